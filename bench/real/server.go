package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// server is nginx with one server block for each site.
type server struct {
	cmd *exec.Cmd
	log string
}

// request is a line of the server's log.
type request struct {
	host, target string
	start, end   time.Time // to the millisecond
	status       int
	bytes        int
	conn         string
}

func startServer(work string, sites []site, port int) (*server, error) {
	s := &server{log: filepath.Join(work, "access.log")}
	var conf strings.Builder
	fmt.Fprintf(&conf, `daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http {
	types { text/html html; text/css css; application/javascript js; image/png png; image/svg+xml svg; text/plain txt; }
	default_type application/octet-stream;
	log_format judged '$host|$msec|$request_time|$status|$body_bytes_sent|$connection|$request_uri';
	access_log %[2]s judged;
	client_body_temp_path %[1]s; proxy_temp_path %[1]s; fastcgi_temp_path %[1]s; uwsgi_temp_path %[1]s; scgi_temp_path %[1]s;
	keepalive_requests 1000000;
`, work, s.log)
	for _, site := range sites {
		robots := "return 404;"
		if site.robots != "" {
			robots = fmt.Sprintf("default_type text/plain; return 200 %q;", site.robots)
		}
		fmt.Fprintf(&conf, "\tserver { listen %s:%d; root %s; index index.html; location = /robots.txt { %s } }\n", site.addr, port, site.root, robots)
	}
	conf.WriteString("}\n")
	path := filepath.Join(work, "nginx.conf")
	if err := os.WriteFile(path, []byte(conf.String()), 0o644); err != nil {
		return nil, err
	}
	s.cmd = exec.Command("nginx", "-c", path, "-e", filepath.Join(work, "error.log"))
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	for range 100 {
		if c, err := net.Dial("tcp", net.JoinHostPort(sites[0].addr, strconv.Itoa(port))); err == nil {
			c.Close()
			return s, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("nginx does not answer; see %s/error.log", work)
}

func (s *server) stop() {
	s.cmd.Process.Signal(os.Interrupt)
	s.cmd.Wait()
}

// reset forgets the log so far.
func (s *server) reset() error { return os.Truncate(s.log, 0) }

// requests reads the log.
func (s *server) requests() ([]request, error) {
	f, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []request
	in := bufio.NewScanner(f)
	for in.Scan() {
		p := strings.SplitN(strings.TrimLeft(in.Text(), "\x00"), "|", 7)
		if len(p) != 7 {
			return nil, fmt.Errorf("access log: %q", in.Text())
		}
		end, _ := strconv.ParseFloat(p[1], 64)
		took, _ := strconv.ParseFloat(p[2], 64)
		status, _ := strconv.Atoi(p[3])
		bytes, _ := strconv.Atoi(p[4])
		at := time.UnixMilli(int64(end*1000 + .5))
		out = append(out, request{p[0], p[6], at.Add(-time.Duration(took * float64(time.Second))), at, status, bytes, p[5]})
	}
	return out, in.Err()
}
