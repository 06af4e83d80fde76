/** A cause that waiting does not remove, and what the operator can do. The texts have no address and no credentials. */
interface ProblemRow {
  readonly error: RegExp;
  readonly problem: string;
}

/**
 * The errors of Redis, TLS and ioredis that mean a wrong REDIS_URL or an unsupported server. Others, for instance a refused
 * connection, may end by themselves. The first match counts.
 */
const problemRows: readonly ProblemRow[] = [
  {
    error: /RESP type|^Protocol error, got /,
    problem: 'the server at this address is not Redis: check host and port',
  },
  {
    error: /CERTIFICATE_REQUIRED|certificate required/i,
    problem:
      'Redis requires a client certificate, which Gatehouse does not have: set tls-auth-clients to no and use a password',
  },
  {
    error: /WRONG_VERSION_NUMBER|wrong version number|packet length too long/i,
    problem: 'the server does not use TLS at this port: write redis:// for rediss://, or its TLS port',
  },
  { error: /ALTNAME/i, problem: 'the certificate of Redis is for another host name: use one of its names' },
  { error: /CERT_HAS_EXPIRED|certificate has expired/i, problem: 'the certificate of Redis has expired: renew it' },
  {
    error: /self[- ]signed certificate|unable to (verify|get)|SELF_SIGNED_CERT|UNABLE_TO_(VERIFY|GET)/i,
    problem:
      'the certificate of Redis is not trusted: set NODE_EXTRA_CA_CERTS to the file of its certificate authority (PEM)',
  },
  {
    error: /sentinel .* because (NOAUTH|WRONGPASS)/,
    problem: 'the Sentinels require another password: ?sentinelPassword=',
  },
  { error: /WRONGPASS/, problem: 'Redis rejects user or password (WRONGPASS)' },
  { error: /NOAUTH/, problem: 'Redis requires a password (NOAUTH): redis://user:password@host' },
  { error: /cluster support disabled/, problem: 'the server is not a cluster: write redis:// for redis+cluster://' },
  {
    error: /^MOVED /,
    problem: 'the server is a node of a cluster: write redis+cluster:// and some of its nodes',
  },
  {
    error: /No such master|got an invalid reply: null/,
    problem: 'the Sentinels have no primary of this name: redis+sentinel://host:26379/name',
  },
  {
    error: /unknown command '?`?sentinel/i,
    problem: 'the server is not a Sentinel: write redis:// for redis+sentinel://',
  },
  { error: /^READONLY /, problem: 'the server is a read-only replica: use the address of its primary' },
  {
    error: /unknown command '?`?eval/i,
    problem: 'the server has no scripts (EVAL), which Gatehouse requires: use Redis 6 or newer, or Valkey',
  },
];

/** The problem behind an error message that waiting does not remove; undefined if there is none, or it is not known. */
export function connectionProblem(message: string): string | undefined {
  return problemRows.find(({ error }) => error.test(message))?.problem;
}
