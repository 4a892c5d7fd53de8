package inspect

// Interrupted are options of a repair that stops says, before each stage, whether to end.
func Interrupted(resume string, stop func(stage string) error) RepairOptions {
	return RepairOptions{Resume: resume, interrupt: stop}
}
