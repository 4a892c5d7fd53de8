package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"decorum/internal/config"
	"decorum/internal/node"
	"decorum/internal/simweb"
)

func TestCheckpointVerb(t *testing.T) {
	crawledHere(t)
	folder := strings.TrimSpace(expect(t, exitOK, "goes on from here", "checkpoint"))
	expect(t, exitOK, ": sound", "check", folder)
	again := strings.TrimSpace(expect(t, exitOK, "", "checkpoint"))
	third := strings.TrimSpace(expect(t, exitOK, "", "checkpoint"))
	if _, err := os.Stat(folder); !os.IsNotExist(err) || again == third {
		t.Errorf("two are kept: %s %s %s %v", folder, again, third, err)
	}
	expect(t, exitUsage, "no crawl", "checkpoint", t.TempDir())
}

func TestCheckpointVerbAsksARunningCrawl(t *testing.T) {
	t.Chdir(t.TempDir())
	web := simweb.New(simweb.Plain())
	seed, err := config.ParseSeed(web.Seeds()[0])
	if err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Scope, c.AllowNet, c.MinFree, c.Listen = "any", []string{"127.0.0.0/8"}, 0, "127.0.0.1:0"
	for name, addrs := range web.StaticDNS() {
		c.Resolve = append(c.Resolve, fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	n, err := node.Open(node.Options{Config: c, Seeds: []config.Seed{seed}, Dir: "running.crawl", Version: "test", Dial: web.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	expect(t, exitUsage, "cannot be asked", "checkpoint") // no live page yet
	live, err := n.Live(node.LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	soft, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := n.Run(soft, context.Background()); err != nil {
			t.Error(err)
		}
	}()
	folder := strings.TrimSpace(expect(t, exitOK, filepath.Join("running.crawl", "checkpoints"), "checkpoint", "running.crawl"))
	stop()
	<-ended
	expect(t, exitOK, ": sound", "check", folder)
}
