package simweb

import "testing"

func TestPresetsHavePages(t *testing.T) {
	for name, o := range map[string]Options{"plain": Plain(), "realistic": Realistic(), "demo": Demo()} {
		truth := New(o).Truth("decorum")
		if n := truth.Count(KindPage); n < 100 {
			t.Errorf("%s: %d pages", name, n)
		}
	}
}
