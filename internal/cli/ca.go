package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/superstep-go/superstep/internal/certs"
)

// Days that certificates are good for unless flags say otherwise, and at most.
const (
	caDays     = 3650
	issuedDays = 365
	mostDays   = 36500
)

// ca is `superstep ca`.
func (a *app) ca() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ca init|issue|show",
		Short: "Make certificates for a cluster with TLS",
		Long: `Make certificates for a cluster with TLS: a CA in a directory, and by it one for the master, for workers, for who uses the
cluster and for who only looks. The role in a certificate says what its holder may. Any other CA will do whose certificates have the URI name
superstep:role:ROLE. Keep ca-key.pem where only those can read it who issue certificates.`,
		Example: `  superstep ca init ca
  superstep ca issue --ca ca --role master --host 10.0.0.1,master.example.org
  superstep ca issue --ca ca --role worker
  superstep ca issue --ca ca --role client --name alice --days 30
  superstep ca show ca/alice.pem`,
		SuggestionsMinimumDistance: 2,
		Args:                       noCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.initCA(), a.issue(), a.showCertificates())
	return cmd
}

func (a *app) initCA() *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use:     "init DIR",
		Short:   "Make a CA",
		Long:    `Make a CA in DIR: its certificate, ca.pem, which all have as --tls-ca, and its key, ca-key.pem. Nothing is overwritten.`,
		Example: `  superstep ca init ca`,
		Args:    exactly(1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkDays(days); err != nil {
				return err
			}
			p, err := certs.Init(args[0], days)
			return a.made(p, err)
		},
	}
	cmd.Flags().IntVar(&days, "days", caDays, "it is good for `N` days")
	nothing(cmd, "days")
	return cmd
}

func (a *app) issue() *cobra.Command {
	var authority, out string
	var roles []string
	var r certs.Request
	cmd := &cobra.Command{
		Use:   "issue --ca DIR --role ROLE",
		Short: "Issue a certificate",
		Long: `Issue a certificate by the CA in a directory: NAME.pem and its key NAME-key.pem. Roles: a worker takes part; a client does all that a
user can, and cancels, reads and drops only what is its own; a reader sees status, jobs, metrics and the page; an operator does all that a client
can, to whatever is there, makes backups, and drains workers; a master is one. Nothing is overwritten.`,
		Example: `  superstep ca issue --ca ca --role master --host 10.0.0.1,master.example.org
  superstep ca issue --ca ca --role client --name alice --days 30
  superstep ca issue --ca ca --role master,worker,client --host 127.0.0.1 --name local`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range roles {
				role, err := certs.ParseRole(name)
				if err != nil {
					return usagef("--role: %w", err)
				}
				r.Roles |= role
			}
			switch {
			case authority == "":
				return usagef("expected --ca DIR, which superstep ca init made")
			case len(roles) == 0:
				return usagef("expected --role worker, client, reader, operator or master")
			}
			if err := checkDays(r.Days); err != nil {
				return err
			}
			if r.Name == "" {
				r.Name = roles[0]
			}
			if out == "" {
				out = authority
			}
			p, err := certs.Issue(authority, out, r)
			return a.made(p, err)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&authority, "ca", "", "the `DIR` of the CA")
	cmd.Flags().StringSliceVar(&roles, "role", nil, "what the holder may be, a `ROLE` or several: worker, client, reader, operator, master")
	cmd.Flags().StringSliceVar(&r.Hosts, "host", nil, "a `HOST`, name or address, by which the holder is reached, or several; a master needs all that --master may name")
	cmd.Flags().StringVar(&r.Name, "name", "", "the holder's `NAME`, and of the files (default: the first role)")
	cmd.Flags().IntVar(&r.Days, "days", issuedDays, "it is good for `N` days")
	cmd.Flags().StringVar(&out, "out", "", "write the files into `DIR` (default: that of the CA)")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"worker", "client", "reader", "operator", "master"}, cobra.ShellCompDirectiveNoFileComp))
	nothing(cmd, "host", "name", "days")
	return cmd
}

func (a *app) showCertificates() *cobra.Command {
	return &cobra.Command{
		Use:     "show FILE",
		Short:   "Show what a certificate says",
		Example: `  superstep ca show ca/alice.pem`,
		Args:    exactly(1, "a file of certificates"),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := certs.ReadFile(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.out, certs.Describe(all, time.Now()))
			return err
		},
	}
}

func checkDays(days int) error {
	if days < 1 || days > mostDays {
		return usagef("--days: found %d, expected 1 to %d", days, mostDays)
	}
	return nil
}

// made says which files there are now.
func (a *app) made(p certs.Paths, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n%s (keep it secret)\n", p.Cert, p.Key)
	return err
}
