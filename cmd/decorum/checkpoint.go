package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/node"
	"decorum/internal/web"
)

// checkpointCmd is `decorum checkpoint`: a crawl folder of its own that shows one instant of a crawl, running or not.
type checkpointCmd struct {
	Dir string `arg:"" optional:"" name:"dir" help:"Crawl folder; without one, the only *.crawl folder here."`
}

// Run makes a checkpoint and prints its folder.
func (c *checkpointCmd) Run(e *env) error {
	path, err := crawlFolder(c.Dir)
	if err != nil {
		return err
	}
	keep, err := checkpointsKept(path)
	if err != nil {
		return err
	}
	folder, err := node.CheckpointFolder(context.Background(), path, version, keep)
	if errors.Is(err, jobdir.ErrInUse) {
		folder, err = askForCheckpoint(path, err)
	}
	if err != nil {
		return err
	}
	folder = filepath.Join(path, jobdir.CheckpointsName, filepath.Base(folder)) // as seen from here
	fmt.Fprintf(e.stderr, "%s is a crawl folder of its own; copy it anywhere and `decorum crawl --dir COPY` goes on from here\n", web.Clean(folder))
	_, err = fmt.Fprintln(e.stdout, folder)
	return err
}

// checkpointsKept is how many the crawl in the folder keeps.
func checkpointsKept(path string) (int, error) {
	stored, err := storedOptions(path)
	if err != nil {
		return 0, err
	}
	if n, err := strconv.Atoi(fmt.Sprint(stored["checkpoints"])); err == nil {
		return n, nil
	}
	return config.Default().Checkpoints, nil
}

// askForCheckpoint lets the running crawl make it.
func askForCheckpoint(path string, inUse error) (folder string, err error) {
	live, found, err := web.ReadLive(path)
	if err != nil {
		return "", err
	}
	if !found || live.URL == "" {
		return "", fmt.Errorf("%w, and with --listen off it cannot be asked; it makes checkpoints by itself (--checkpoint-every)", inUse)
	}
	folder, err = live.Checkpoint(context.Background())
	if err != nil {
		return "", &exitError{exitState, fmt.Sprintf("%s: the running crawl made none: %v", path, err)}
	}
	return folder, nil
}
