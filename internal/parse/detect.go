package parse

func detect(body []byte) string { return "" }
