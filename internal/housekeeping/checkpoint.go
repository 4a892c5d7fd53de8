package housekeeping

import (
	"context"
	"time"
)

// checkpoints asks for one whenever CheckpointEvery has passed, until ctx is done. While fetching rests none is made: nothing
// changes, and the rest may be for lack of disk.
func (h *Housekeeper) checkpoints(ctx context.Context) {
	if h.o.CheckpointEvery <= 0 || h.o.Checkpoint == nil {
		return
	}
	tick := time.NewTicker(h.o.CheckpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if h.Paused() != "" {
			continue
		}
		began := time.Now()
		path, err := h.o.Checkpoint(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			h.o.Log("no checkpoint: %v", err)
		default:
			h.o.Log("checkpoint %s, made in %v", path, time.Since(began).Round(time.Millisecond))
		}
	}
}
