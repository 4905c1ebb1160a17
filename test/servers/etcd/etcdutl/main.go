// The offline tool that belongs to the server: restores snapshots.
package main

import (
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
)

func main() {
	root := &cobra.Command{Use: "etcdutl"}
	root.AddCommand(etcdutl.NewSnapshotCommand())
	if root.Execute() != nil {
		os.Exit(1)
	}
}
