/** URL and headers for each request to an upstream, and their secret parts. */
export interface Credentials {
  /** Without the fragment (#…), which is never sent. */
  readonly url: URL;
  /** The headers from the network file. User and password of the URL become basic authentication. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Parts of address and headers that callers must not see, in lower case. */
  readonly secrets: readonly string[];
}

/** @param address a URL whose user and password can be percent-decoded */
export function credentialsOf(address: string, headers: Readonly<Record<string, string>>): Credentials {
  const url = new URL(address);
  const { username, password } = url;
  const secrets = secretsOf(url, headers);
  const sent = Object.entries(headers);
  if (username !== '' || password !== '') {
    const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    sent.unshift(['authorization', `Basic ${Buffer.from(plain).toString('base64')}`]);
  }
  url.hash = '';
  return { url, headers: sent, secrets };
}

/**
 * Providers expect their keys in the path, the query, the user part or a header. Paths also contain common words (`v2`,
 * `ethereum`): a path segment below 16 characters is a secret only if it has a digit. Shorter than 8 is never a key.
 */
function secretsOf(url: URL, headers: Readonly<Record<string, string>>): string[] {
  const { host, hostname, pathname, searchParams, username, password } = url;
  const segments = pathname.split('/').filter((word) => word.length >= 16 || /\d/.test(word));
  const given = Object.values(headers).flatMap((value) => value.split(' '));
  const keys = [...segments, ...searchParams.values(), ...given, username, password].filter(
    ({ length }) => length >= 8,
  );
  const hosts = hostname.includes('.') ? [host, hostname] : [host];
  return [...hosts, ...keys].map((secret) => secret.toLowerCase());
}

/** Replaces words with secrets: messages of nodes and proxies may have their address. @param secrets in lower case */
export function withoutSecrets(message: string, secrets: readonly string[]): string {
  const hasSecret = (text: string): boolean => {
    const lower = text.toLowerCase();
    return secrets.some((secret) => lower.includes(secret));
  };
  if (!hasSecret(message)) return message;
  return message
    .split(/(\s+)/)
    .map((word) => (hasSecret(word) ? '<upstream>' : word))
    .join('');
}
