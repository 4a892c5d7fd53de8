// Command floor measures what a crawl costs next to the naive floor: the same synthetic pages of 37 KB with 40 links,
// served by a process of its own on loopback, crawled by decorum (whole pipeline: robots, frontier, seen-set, WARC,
// JSONL, durable) and by one loop of net/http + x/net tokenizer + map + SHA-1 + gzip-1 and nothing else. CPU is user
// plus system time of the crawling process; compare the ratio, wall clock means little. Then it lets every host
// rest and measures an idle crawler.
//
//	go run ./bench/floor            # 10,000 pages, three rounds
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"decorum/internal/simweb"
)

const port = 8642

// web is the web of both crawls. The server and the crawlers' lists of hosts come from the same options.
func web(hosts, pages int) *simweb.Web {
	o := simweb.Plain()
	o.Hosts, o.Pages, o.PageBytes, o.Uniform, o.LinksPerPage, o.Port, o.EqualHosts = hosts, pages, 37<<10, true, 40, port, true
	o.LogLimit = 1
	return simweb.New(o)
}

func main() {
	pages := flag.Int("pages", 10_000, "pages of the web")
	hosts := flag.Int("hosts", 20, "hosts of the web")
	rounds := flag.Int("rounds", 3, "rounds; the median counts")
	idle := flag.Duration("idle", 20*time.Second, "how long to watch an idle crawler")
	role := flag.String("role", "", "internal: serve or naive")
	flag.Parse()
	var err error
	switch *role {
	case "serve":
		err = serve(*hosts, *pages)
	case "naive":
		err = naive(web(*hosts, *pages))
	default:
		err = compare(*hosts, *pages, *rounds, *idle)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func serve(hosts, pages int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	closeAll, err := web(hosts, pages).Listen(ctx, port)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	<-ctx.Done()
	return closeAll()
}

// cost is what one crawl took.
type cost struct {
	pages   int
	cpu     time.Duration
	maxRSS  int64 // KiB
	per1000 float64
}

func compare(hosts, pages, rounds int, idle time.Duration) error {
	work, err := os.MkdirTemp("", "decorum-floor")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	self, decorum := filepath.Join(work, "floor"), filepath.Join(work, "decorum")
	for out, pkg := range map[string]string{self: "./bench/floor", decorum: "./cmd/decorum"} {
		build := exec.Command("go", "build", "-trimpath", "-o", out, pkg)
		build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	size := []string{fmt.Sprint("-hosts=", hosts), fmt.Sprint("-pages=", pages)}
	server := exec.Command(self, append(size, "-role=serve")...)
	ready, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer func() { server.Process.Signal(os.Interrupt); server.Wait() }()
	if _, err := ready.Read(make([]byte, 16)); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	var ours, floor []cost
	for round := range rounds {
		n, err := measure(exec.Command(self, append(size, "-role=naive")...), pages)
		if err != nil {
			return fmt.Errorf("naive: %w", err)
		}
		args := crawlArgs(web(hosts, pages), filepath.Join(work, fmt.Sprint("crawl", round)), "0")
		d, err := measure(exec.Command(decorum, args...), pages)
		if err != nil {
			return fmt.Errorf("decorum: %w", err)
		}
		floor, ours = append(floor, n), append(ours, d)
		fmt.Printf("round %d: naive floor %.3f, decorum %.3f CPU s per 1000 pages, ratio %.2f\n", round+1, n.per1000, d.per1000, d.per1000/n.per1000)
	}
	n, d := median(floor), median(ours)
	fmt.Printf("\n%-28s %12s %12s\n", "median", "naive floor", "decorum")
	fmt.Printf("%-28s %12.3f %12.3f   ratio %.2f\n", "CPU s per 1000 pages", n.per1000, d.per1000, d.per1000/n.per1000)
	fmt.Printf("%-28s %12d %12d\n", "peak RSS, MiB", n.maxRSS>>10, d.maxRSS>>10)
	return watchIdle(decorum, work, hosts, pages, idle)
}

func median(c []cost) cost {
	slices.SortFunc(c, func(a, b cost) int { return int(a.cpu - b.cpu) })
	return c[len(c)/2]
}

func crawlArgs(w *simweb.Web, dir, delay string) []string {
	args := []string{"crawl", "--dir", dir, "--scope", "any", "--delay", delay, "--allow-net", "127.0.0.0/8", "--progress", "off",
		"--listen", "off", "-q", "--min-free", "64MiB", "--allow-port", fmt.Sprint(port)}
	for name, addrs := range w.StaticDNS() {
		args = append(args, "--resolve", fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	return append(args, w.Seeds()...)
}

func measure(cmd *exec.Cmd, pages int) (cost, error) {
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return cost{}, err
	}
	s := cmd.ProcessState
	c := cost{pages: pages, cpu: s.UserTime() + s.SystemTime(), maxRSS: s.SysUsage().(*syscall.Rusage).Maxrss}
	c.per1000 = c.cpu.Seconds() * 1000 / float64(pages)
	return c, nil
}

// watchIdle starts a crawl whose hosts all rest for a minute after their first contact, and measures the CPU it takes then.
func watchIdle(decorum, work string, hosts, pages int, d time.Duration) error {
	if d == 0 {
		return nil
	}
	args := crawlArgs(web(hosts, pages), filepath.Join(work, "idle"), "1h")
	cmd := exec.Command(decorum, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(5 * time.Second) // the first contacts
	before, err := cpuOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	time.Sleep(d)
	after, err := cpuOf(cmd.Process.Pid)
	if err != nil {
		return err
	}
	fmt.Printf("%-28s %12s %11.2f%%   of a core, over %v\n", "idle, every host resting", "", 100*(after-before).Seconds()/d.Seconds(), d)
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	return nil
}

// cpuOf reads user and system time of a process (proc(5), fields 14 and 15, in hundredths of a second).
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	var skip string
	var user, system int64
	fields := []any{&skip, &skip, &skip}
	for range 10 {
		fields = append(fields, &skip)
	}
	if _, err := fmt.Sscan(string(raw), append(fields, &user, &system)...); err != nil {
		return 0, err
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
