/** A request whose end two HTTP parsers may see at different places. */
interface FramingCase {
  readonly name: string;
  text(path: string, body: string): string;
}

/** Headers after the request line and `Host`. */
const withBody = (name: string, headers: string): FramingCase => ({
  name,
  text: (path, body) => `POST ${path} HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`,
});
const inChunks = (name: string, headers: string, version = '1.1'): FramingCase => ({
  name,
  text: (path, body) => `POST ${path} HTTP/${version}\r\nHost: a\r\n${headers}\r\n${chunked(body)}`,
});
const asChunks = (name: string, chunks: (body: string) => string): FramingCase => ({
  name,
  text: (path, body) => `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks(body)}`,
});
const sizeOf = (body: string): string => body.length.toString(16);
const chunked = (body: string): string => `${sizeOf(body)}\r\n${body}\r\n0\r\n\r\n`;

/** Each must get 400 and the end of its connection. */
export const framingCases: readonly FramingCase[] = [
  inChunks('Content-Length, then Transfer-Encoding', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n'),
  inChunks('Transfer-Encoding, then Content-Length', 'Transfer-Encoding: chunked\r\nContent-Length: 5\r\n'),
  withBody('two different Content-Length', 'Content-Length: 5\r\n'),
  withBody('two Host', 'Host: b\r\n'),
  inChunks('Transfer-Encoding: xchunked', 'Transfer-Encoding: xchunked\r\n'),
  inChunks('Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'),
  inChunks('Transfer-Encoding: chunked, identity', 'Transfer-Encoding: chunked, identity\r\n'),
  inChunks('two Transfer-Encoding', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n'),
  inChunks('a space before the colon', 'Transfer-Encoding : chunked\r\n'),
  inChunks('a vertical tab before chunked', 'Transfer-Encoding: \x0bchunked\r\n'),
  inChunks('Transfer-Encoding in HTTP/1.0', 'Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n', '1.0'),
  withBody('a bare CR in a header', 'X: a\rContent-Length: 5\r\n'),
  withBody('a bare LF in a header', 'X: a\n'),
  withBody('NUL in a header', 'X: a\0b\r\n'),
  withBody('headers of 20 kB', `X: ${'a'.repeat(20_000)}\r\n`),
  {
    name: 'a sign in Content-Length',
    text: (path, body) => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: +${body.length}\r\n\r\n${body}`,
  },
  {
    name: 'a list in Content-Length',
    text: (path, body) =>
      `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}, ${body.length}\r\n\r\n${body}`,
  },
  { name: 'the preface of HTTP/2', text: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  asChunks('a chunk that ends with LF', (body) => `${sizeOf(body)}\n${body}\n0\n\n`),
  asChunks('LF in a chunk extension', (body) => `${sizeOf(body)};a\nb\r\n${body}\r\n0\r\n\r\n`),
  asChunks('a chunk size with 0x', (body) => `0x${sizeOf(body)}\r\n${body}\r\n0\r\n\r\n`),
  asChunks('a chunk size of 65 bits', (body) => `1${sizeOf(body).padStart(16, '0')}\r\n${body}\r\n0\r\n\r\n`),
  asChunks('a chunk longer than its size', (body) => `${sizeOf(body)}\r\n${body}XX0\r\n\r\n`),
];
