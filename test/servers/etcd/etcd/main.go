// The real server, as a test fixture: its own module, because `go install` refuses modules with replacements.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
