import type { ErrorResponse } from './upstream-response.ts';

/** Texts that `Secrets` removes. */
export interface SecretTexts {
  readonly hosts: readonly string[];
  readonly credentials: readonly string[];
}

/** URL and headers for each request to an upstream, and their secret parts. */
export interface Credentials {
  /** URL without the fragment (#…), which is never sent. */
  readonly url: URL;
  /** The headers from the network file. User and password of the URL become basic authentication. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Texts that `Secrets` removes. */
  readonly secrets: SecretTexts;
}

/** @param address a URL whose user and password can be percent-decoded */
export function credentialsOf(address: string, headers: Readonly<Record<string, string>>): Credentials {
  const url = new URL(address);
  const { username, password } = url;
  const sent = Object.entries(headers);
  if (username !== '' || password !== '') {
    const plain = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    sent.unshift(['authorization', `Basic ${Buffer.from(plain).toString('base64')}`]);
  }
  url.hash = '';
  return {
    url,
    headers: sent,
    secrets: secretsOf(
      url,
      sent.map(([, value]) => value),
    ),
  };
}

/** The texts of an upstream and of its proxy. */
export function joinSecrets(own: SecretTexts, { hosts, credentials }: SecretTexts): SecretTexts {
  return { hosts: [...own.hosts, ...hosts], credentials: [...own.credentials, ...credentials] };
}

/** Shorter texts are common words or ports. A password is secret by definition; below 6 characters it is a word too. */
const MIN_SECRET_CHARS = 8;
const MIN_PASSWORD_CHARS = 6;

/**
 * Providers expect their keys in the path, the query, the user part or a header. Paths also contain common words (`v2`,
 * `ethereum`): a path segment below 16 characters, or the name of a query parameter, is a secret only if it has a digit.
 * @param sent values of the headers
 */
function secretsOf(
  { host, hostname, pathname, search, username, password }: URL,
  sent: readonly string[],
): SecretTexts {
  const hosts = hostname.includes('.') ? [host, hostname] : [host];
  const pairs = search
    .slice(1)
    .split('&')
    .map((pair) => /^([^=]*)=?(.*)$/.exec(pair) ?? []);
  const names = [...pathname.split('/'), ...pairs.map(([, name = '']) => name)];
  const basic = sent.flatMap((value) => /^basic +(\S+)$/i.exec(value)?.[1] ?? []).map(decodeBase64);
  const given = [
    ...names.filter((word) => word.length >= 16 || /\d/.test(word)),
    ...pairs.map(([, , value = '']) => value),
    ...sent.flatMap((value) => [value, ...value.split(/[\s,;=]+/)]),
    ...basic.flatMap((pair) => [pair, pair.slice(0, Math.max(pair.indexOf(':'), 0))]),
    ...[username, `${username}:${password}`],
  ];
  const passwords = [password, ...basic.map((pair) => pair.slice(pair.indexOf(':') + 1))];
  const credentials = [
    ...given.flatMap(formsOf).filter(({ length }) => length >= MIN_SECRET_CHARS),
    ...passwords.flatMap(formsOf).filter(({ length }) => length >= MIN_PASSWORD_CHARS),
  ];
  return { hosts, credentials };
}

/** The text as it is sent, percent-decoded, percent-encoded, and in the base64 alphabet of URLs without padding. */
function formsOf(text: string): string[] {
  const bare = text.replace(/=+$/, '');
  const decoded = [text, text.replaceAll('+', ' ')].flatMap((encoded) => decodePercent(encoded) ?? []);
  const encoded = decoded.map(encodeURIComponent);
  // RFC 3986 §2.1: the case of the digits does not matter.
  const inLowerCase = encoded.map((each) => each.replace(/%../g, (digits) => digits.toLowerCase()));
  return [bare, bare.replaceAll('+', '-').replaceAll('/', '_'), ...decoded, ...encoded, ...inLowerCase];
}

function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function decodeBase64(text: string): string {
  return Buffer.from(text, 'base64').toString();
}

/** The texts and names of a JSON text, with their quotes. */
const STRING_TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;
const HEX_TOKEN = /^"0x[0-9a-f]*"$/i;

/** Mark in place of a secret: no character of Unicode. */
const MARK = '\uffff';
const WORD = /\S+/g;

/** Removes an upstream's credentials and address from what it returns: nodes and proxies may echo a request. */
export class Secrets {
  /** Credentials in lower case. */
  readonly #credentials: readonly string[];
  /** Bytes of credentials, as they are sent, in lower case and in upper case. */
  readonly #spellings: readonly Buffer[];
  /** Pattern of hosts and credentials. */
  readonly #pattern: RegExp;

  constructor(...all: readonly SecretTexts[]) {
    const credentials = shortestOf(all.flatMap((each) => each.credentials));
    const texts = shortestOf([...all.flatMap(({ hosts }) => hosts), ...credentials]);
    this.#credentials = shortestOf(credentials.map((text) => text.toLowerCase()));
    const spellings = credentials.flatMap((text) => [text, text.toLowerCase(), text.toUpperCase()]);
    this.#spellings = [...new Set(spellings)].map((text) => Buffer.from(text));
    this.#pattern = patternOf(texts);
  }

  /** Length of the longest credential. */
  get maxCredentialChars(): number {
    return Math.max(0, ...this.#credentials.map(({ length }) => length));
  }

  /** Whether a search in the bytes of a text finds all credentials. */
  get areAscii(): boolean {
    return this.#credentials.every((credential) => Buffer.byteLength(credential) === credential.length);
  }

  /** Replaces each word that has a secret, in any case. */
  removeFrom(text: string): string {
    const marked = text.replace(this.#pattern, MARK);
    if (marked === text) return text;
    return marked.replace(WORD, (word) => (word.includes(MARK) ? '<upstream>' : word));
  }

  /** Whether a JSON text has a credential, in any case. */
  areIn(json: string): boolean {
    if (this.#credentials.length === 0) return false;
    const text = withoutEscapes(json).toLowerCase();
    return this.#credentials.some((credential) => text.includes(credential));
  }

  /**
   * Whether the bytes of a JSON text may have a credential, in one case or escaped. The native search takes an eighth of a
   * case-insensitive one.
   */
  mayBeIn(bytes: Buffer): boolean {
    if (this.#credentials.length === 0) return false;
    return bytes.includes(BACKSLASH) || this.#spellings.some((spelling) => bytes.includes(spelling));
  }

  /** Replaces words with secrets in the texts of a JSON value, if one of them has a credential. */
  removeFromJson(json: string): string {
    if (!this.areIn(json)) return json;
    return json.replace(STRING_TOKENS, (token) => this.#removeFromToken(token));
  }

  /** The error without secrets in its message and data. Data in hexadecimal that has one, as a revert's reason, is omitted. */
  removeFromError(error: ErrorResponse): ErrorResponse {
    return { ...error, message: this.removeFrom(error.message), data: this.#removeFromData(error.data) };
  }

  /** Removes hosts too, as from messages. The data is replaced as text, because it may be nested 3,000 levels deep. */
  #removeFromData(data: unknown): unknown {
    if (data === undefined) return undefined;
    if (typeof data === 'string' && HEX_TOKEN.test(`"${data}"`)) return this.#isInHex(data) ? undefined : data;
    const json = JSON.stringify(data).replace(STRING_TOKENS, (token) =>
      HEX_TOKEN.test(token) && this.#isInHex(token.slice(1, -1)) ? '"<upstream>"' : this.#removeFromToken(token),
    );
    return JSON.parse(json) as unknown;
  }

  /** Whether a credential is in the digits, in any case of the digits and of the text. A revert's reason has whole bytes. */
  #isInHex(data: string): boolean {
    return Buffer.from(data.slice(2), 'hex').toString().search(this.#pattern) !== -1;
  }

  /** Hexadecimal values stay as they are: a key of few digits would be found in the data of a chain. */
  #removeFromToken(token: string): string {
    if (HEX_TOKEN.test(token)) return token;
    try {
      const text = JSON.parse(token) as string;
      const shown = this.removeFrom(text);
      return shown === text ? token : JSON.stringify(shown);
    } catch {
      // Not JSON: the parser will reject it.
      return token;
    }
  }
}

const [BACKSLASH, LETTER_U] = [0x5c, 0x75];

/**
 * The JSON text with each escaped character in place of its escape. Line breaks and tabs become letters. One pass without a
 * match per escape: a caller's code may return millions of them.
 */
function withoutEscapes(json: string): string {
  if (!json.includes('\\')) return json;
  const plain = new Uint16Array(json.length);
  let length = 0;
  for (let at = 0; at < json.length; at++) {
    let code = json.charCodeAt(at);
    if (code === BACKSLASH) {
      code = json.charCodeAt(++at);
      if (code === LETTER_U) {
        code = parseInt(json.slice(at + 1, at + 5), 16);
        at += 4;
      }
    }
    plain[length++] = code;
  }
  return Buffer.from(plain.buffer, 0, length * 2).toString('utf16le');
}

/** The texts that contain no other one. */
function shortestOf(texts: readonly string[]): string[] {
  const shortestFirst = [...new Set(texts)].sort((a, b) => a.length - b.length);
  return shortestFirst.filter((text, at) => !shortestFirst.slice(0, at).some((other) => text.includes(other)));
}

/** Matches any of the texts, in any case; `(?!)` matches nothing. */
function patternOf(texts: readonly string[]): RegExp {
  return new RegExp(texts.map(escapePattern).join('|') || '(?!)', 'gi');
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
