// The real server, as a test fixture: its own module, so that go.sum pins all versions.
package main

import (
	"flag"
	"os"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	flags := flag.NewFlagSet("nats-server", flag.ExitOnError)
	options, err := server.ConfigureOptions(flags, os.Args[1:], server.PrintServerAndExit, flags.Usage, server.PrintTLSHelpAndDie)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	nats, err := server.NewServer(options)
	if err != nil {
		server.PrintAndDie(err.Error())
	}
	nats.ConfigureLogger()
	if err := server.Run(nats); err != nil {
		server.PrintAndDie(err.Error())
	}
	nats.WaitForShutdown()
}
