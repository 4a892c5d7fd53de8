package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// crawlOnce crawls the sites into a fresh folder, killing the crawler on the way, and adds a column to the table.
func crawlOnce(t *table, name, work, binary string, web *server, sites []site, port int, want map[string]bool, kills int) bool {
	t.heads = append(t.heads, name)
	dir := filepath.Join(work, strings.ReplaceAll(name, " ", "-")+".crawl")
	args := []string{"crawl", "--dir", dir, "--delay", "0", "--progress", "off", "--listen", "off", "-q", "--min-free", "64MiB"}
	for _, s := range sites {
		args = append(args, fmt.Sprintf("http://%s:%d/", s.addr, port))
	}
	if err := web.reset(); err != nil {
		t.set("error", "%v", err)
		return false
	}
	watch := watchConnections(sites, port)
	began := time.Now()
	var cpu time.Duration
	var rss int64
	var killed []time.Time
	for i := 0; ; i++ {
		cmd := exec.Command(binary, args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.set("error", "%v", err)
			return false
		}
		if i < kills { // in the middle: a third of a whole crawl's time on the machine at hand
			time.AfterFunc(700*time.Millisecond, func() { cmd.Process.Kill() })
		}
		err := cmd.Wait()
		if i < kills {
			killed = append(killed, time.Now())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		rss = max(rss, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
		if i < kills && err != nil && cmd.ProcessState.ExitCode() == -1 {
			continue // killed, as intended
		}
		if err != nil {
			t.set("error", "%v: %s", err, stderr.String())
			return false
		}
		break
	}
	wall, most := time.Since(began), watch()
	requests, err := web.requests()
	if err != nil {
		t.set("error", "%v", err)
		return false
	}
	pages, err := pageURLs(dir)
	if err != nil {
		t.set("error", "%v", err)
		return false
	}
	ok := judge(t, sites, requests, pages, want, killed)
	t.set("connections to one host, most", "%d", most)
	t.set("wall clock", "%.1f s", wall.Seconds())
	t.set("CPU per 1000 requests", "%.2f s", cpu.Seconds()*1000/float64(len(requests)))
	t.set("peak RSS", "%d MiB", rss>>10)
	for _, verb := range []string{"check", "audit"} {
		out, err := exec.Command(binary, verb, dir).CombinedOutput()
		word := "clean"
		if err != nil {
			word, ok = fmt.Sprintf("%v\n%s", err, out), false
		}
		t.set("decorum "+verb, "%s", word)
	}
	return ok && most <= 1
}

// judge compares the server's log and the crawl's pages with the truth.
func judge(t *table, sites []site, requests []request, pages []string, want map[string]bool, killed []time.Time) bool {
	got, fetched := map[string]int{}, map[string][]request{}
	for _, p := range pages {
		if u, err := url.Parse(p); err == nil {
			got[key(u)]++
		}
	}
	byAddr := map[string]site{}
	for _, s := range sites {
		byAddr[s.addr] = s
	}
	disallowed, bytes := 0, 0
	port := portOf(pages)
	for _, r := range requests {
		bytes += r.bytes
		if r.target == "/robots.txt" {
			continue
		}
		u, err := url.Parse("http://" + r.host + port + r.target)
		if err != nil {
			continue
		}
		fetched[key(u)] = append(fetched[key(u)], r)
		if s := byAddr[r.host]; s.disallowed != "" && strings.HasPrefix(u.Path, s.disallowed) {
			disallowed++
		}
	}
	missing, repeats, refetched, needless := 0, 0, 0, 0
	var examples []string
	for k := range want {
		if got[k] == 0 {
			missing++
			examples = append(examples, k)
		}
	}
	for _, n := range got {
		repeats += n - 1
	}
	for _, rs := range fetched {
		for _, r := range rs[:len(rs)-1] {
			refetched++
			if !inFlight(r, killed) {
				needless++
			}
		}
	}
	overlaps := overlap(requests)
	t.set("requests at the server", "%d (%.0f MB)", len(requests), float64(bytes)/1e6)
	t.set("reachable by an independent reading", "%d", len(want))
	t.set("recall", "%.2f %%", 100*float64(len(want)-missing)/float64(len(want)))
	t.set("pages recorded twice", "%d", repeats)
	t.set("fetched again", "%d, of which not in flight at a kill: %d", refetched, needless)
	t.set("disallowed fetched", "%d", disallowed)
	t.set("overlapping requests on a host", "%d", overlaps)
	slices.Sort(examples)
	for _, e := range examples[:min(5, len(examples))] {
		t.set("missing", "%s", e)
	}
	return missing == 0 && repeats == 0 && disallowed == 0 && overlaps == 0 && needless == 0
}

// durableWithin is how long a page may be in flight: fetched, but not durable yet. A group commit comes every 250 ms and takes a
// few tens of milliseconds.
const durableWithin = 400 * time.Millisecond

// inFlight reports whether a request ended shortly before a kill, or after it.
func inFlight(r request, killed []time.Time) bool {
	for _, k := range killed {
		if d := k.Sub(r.end); d > -time.Second && d < durableWithin {
			return true
		}
	}
	return false
}

// portOf is ":port" of the pages, which the server's log leaves out.
func portOf(pages []string) string {
	for _, p := range pages {
		if u, err := url.Parse(p); err == nil && u.Port() != "" {
			return ":" + u.Port()
		}
	}
	return ""
}

// overlap counts requests that began before the one before them on the same host ended. The log is exact to a
// millisecond.
func overlap(requests []request) int {
	last, n := map[string]time.Time{}, 0
	for _, r := range requests {
		if r.start.Before(last[r.host].Add(-time.Millisecond)) {
			n++
		}
		last[r.host] = r.end
	}
	return n
}

// pageURLs reads pages.jsonl.
func pageURLs(dir string) ([]string, error) {
	f, err := os.Open(filepath.Join(dir, "pages", "pages.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	var urls []string
	for in.Scan() {
		_, rest, ok := strings.Cut(in.Text(), `"url":"`)
		if !ok {
			continue
		}
		u, _, _ := strings.Cut(rest, `"`)
		urls = append(urls, u)
	}
	return urls, in.Err()
}

// watchConnections samples the kernel's table of connections and returns a function that stops and tells the most
// connections that were open to one host at once.
func watchConnections(sites []site, port int) func() int {
	stop, most := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				most <- n
				return
			case <-tick.C:
				for _, c := range established(sites, port) {
					n = max(n, c)
				}
			}
		}
	}()
	return func() int { close(stop); return <-most }
}

// established counts established connections to each site, as seen from the client's side.
func established(sites []site, port int) map[string]int {
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil
	}
	count, known := map[string]int{}, map[string]bool{} // the table is read in pieces: a line may come twice
	for _, line := range strings.Split(string(raw), "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "01" || known[f[1]+f[2]] {
			continue
		}
		known[f[1]+f[2]] = true
		for _, s := range sites {
			ip := net.ParseIP(s.addr).To4()
			if f[2] == fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], port) {
				count[s.addr]++
			}
		}
	}
	return count
}
