import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** `HTTPParser.kOnHeaders`: Node's parser calls it with each 32 headers of a head that is not complete (node_http_parser.cc). */
const ON_HEADERS = 1;
/** Other proxies allow no more: Envoy 100, HAProxy 101, Apache 100. */
const MANY_HEADERS = 100;
/** With 160 kB each: Node keeps an object for each name and value. */
const MAX_LARGE_HEADS = 100;

type OnHeaders = (this: unknown, headers: readonly string[], url: string) => void;

/** What Node's parser has collected of a head is in `_headers`: names and values. */
interface Parser {
  [ON_HEADERS]?: OnHeaders;
  _headers: string[];
  onIncoming: (request: IncomingMessage & { upgrade: boolean }) => number;
}

type ParsedSocket = Socket & { readonly parser?: Parser | null };

/** What `onIncoming` returns for an upgrade: the rest of the read is not HTTP. */
const SKIP_REST = 2;

/** Node's own function. Node uses a parser for one connection after the other. */
let parserOnHeaders: OnHeaders | undefined;

/**
 * Bounds the unfinished heads with more than 100 headers: 16 kB of tiny headers take 160 kB. Further ones are not kept nor
 * read on. Their connections are closed when their time is over, and not at once: clients would send the same on new ones.
 */
export class LargeHeads {
  readonly #unfinished = new Set<Socket>();

  /** To be called for each new connection of an HTTP server. */
  watch(socket: ParsedSocket): void {
    const { parser } = socket;
    if (parser?.[ON_HEADERS]?.name === 'parserOnHeaders') parserOnHeaders = parser[ON_HEADERS];
    const collect = parserOnHeaders;
    if (!parser || collect === undefined) return;
    const onHeaders: OnHeaders = (headers, url) => {
      const isLarge = socket.parser === parser && parser._headers.length > 2 * MANY_HEADERS;
      if (isLarge && !this.#canKeep(socket)) abandon(socket, parser);
      else collect.call(parser, headers, url);
    };
    parser[ON_HEADERS] = onHeaders;
    socket.prependOnceListener('close', () => {
      this.#unfinished.delete(socket);
      if (parser[ON_HEADERS] === onHeaders) parser[ON_HEADERS] = collect;
    });
  }

  /** To be called for each request: its head is complete. */
  finished(socket: Socket): void {
    if (this.#unfinished.size > 0) this.#unfinished.delete(socket);
  }

  #canKeep(socket: Socket): boolean {
    if (this.#unfinished.size >= MAX_LARGE_HEADS) return this.#unfinished.has(socket);
    this.#unfinished.add(socket);
    return true;
  }
}

function abandon(socket: Socket, parser: Parser): void {
  parser._headers = [];
  parser.onIncoming = (request) => {
    request.upgrade = false;
    socket.destroy();
    return SKIP_REST;
  };
  socket.pause();
}
