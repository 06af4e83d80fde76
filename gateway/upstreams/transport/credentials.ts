/** What of an upstream's address and headers is sent with each request, and what of them nobody may see. */
export interface Credentials {
  /** Without what follows #, which is never sent. */
  readonly url: URL;
  /** The headers of the network file; user and password of the URL as basic authentication. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Parts of address and headers that no caller may see, in lower case. */
  readonly secrets: readonly string[];
}

/** @param address a URL of which user and password can be decoded */
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
 * Providers' keys stand in the path, the query, the user part or a header, in lower case here. Words that tell nothing
 * (`v2`, `ethereum`) stand in the path too: there, short ones count only with a digit in them.
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

/** Nodes and proxies between may name the address that they were asked at. @param secrets in lower case */
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
