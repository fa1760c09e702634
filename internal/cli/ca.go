package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/certs"
)

// ca is `superstep ca`.
func (a *app) ca() *cobra.Command {
	return family(&cobra.Command{
		Use:   "ca init|issue",
		Short: "Make certificates for a cluster with TLS",
		Long: `Make certificates for a cluster with TLS: a CA in a directory, and
certificates for the master, workers, clients and readers. The role in a certificate decides what
its holder may do. Any other CA works too, if its certificates have the URI name
superstep:role:ROLE. Store ca-key.pem where only the people who issue certificates can read it.`,
		Example: `  superstep ca init ca
  superstep ca issue --ca ca --role master --host 10.0.0.1,master.example.org
  superstep ca issue --ca ca --role worker
  superstep ca issue --ca ca --role client --name alice --days 30`,
	}, a.initCA(), a.issue())
}

func (a *app) initCA() *cobra.Command {
	var f struct {
		Days int `flag:"days" default:"3650" range:"1..36500" help:"valid for {N} days"`
	}
	return flagsOf(&cobra.Command{
		Use:   "init DIR",
		Short: "Make a CA",
		Long: `Make a CA in DIR. It writes the certificate ca.pem, which every process gets
as --tls-ca, and the key ca-key.pem. It overwrites no file.`,
		Example: `  superstep ca init ca`,
		Args:    exactly(1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := certs.Init(args[0], f.Days)
			return a.made(p, err)
		},
	}, &f)
}

func (a *app) issue() *cobra.Command {
	var f struct {
		CA    string   `flag:"ca" help:"the {DIR} that superstep ca init made"`
		Name  string   `flag:"name" help:"the {NAME} of the holder (default: the first role)"`
		Days  int      `flag:"days" default:"365" range:"1..36500" help:"valid for {N} days"`
		Out   string   `flag:"out" help:"write the files into {DIR} (default: that of the CA)"`
		Roles []string `flag:"role" list:"," words:"worker,client,reader,operator,master" help:"the {ROLE} of the holder, or several: worker, client, reader, operator, master"`
		Hosts []string `flag:"host" list:"," help:"a {HOST} (name or address) at which others reach the holder, or several; a master needs each one that --master may name"`
	}
	return flagsOf(&cobra.Command{
		Use:   "issue --ca DIR --role ROLE",
		Short: "Issue a certificate",
		Long: `Issue a certificate: NAME.pem and its key NAME-key.pem. It overwrites no
file. The roles:

worker: takes part in the cluster. client: submits jobs and loads graphs; it cancels, reads and
drops only its own. reader: sees status, jobs, metrics and the page. operator: does what a client
does with the jobs and graphs of everybody, makes backups, and drains workers. master: leads the
cluster.`,
		Example: `  superstep ca issue --ca ca --role master --host 10.0.0.1,master.example.org
  superstep ca issue --ca ca --role client --name alice --days 30
  superstep ca issue --ca ca --role master,worker,client --host 127.0.0.1 --name local`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := certs.Request{Hosts: f.Hosts, Days: f.Days}
			for _, name := range f.Roles {
				role, err := certs.ParseRole(name)
				if err != nil {
					return usagef("--role: %w", err)
				}
				r.Roles |= role
			}
			switch {
			case f.CA == "":
				return usagef("expected --ca DIR, which superstep ca init made")
			case len(f.Roles) == 0:
				return usagef("expected --role worker, client, reader, operator or master")
			}
			r.Name = cmp.Or(f.Name, f.Roles[0])
			p, err := certs.Issue(f.CA, cmp.Or(f.Out, f.CA), r)
			return a.made(p, err)
		},
	}, &f)
}

// made prints the names of the files made.
func (a *app) made(p certs.Paths, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n%s (keep it secret)\n", p.Cert, p.Key)
	return err
}
