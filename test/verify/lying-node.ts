import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a node returns in place of a result. @param ask sends another request to the node behind it */
export type Lie = (result: never, params: readonly unknown[], ask: Ask) => unknown;

export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>;

/** An HTTP node in front of a real one, with lies about its results. */
export interface LyingNode {
  readonly url: string;
  /** The methods of all requests, oldest first. */
  readonly methods: string[];
  /** New lie for a method; undefined: the truth. */
  lie(method: string, lie: Lie | undefined): void;
  close(): Promise<void>;
}

interface Sent {
  readonly id: unknown;
  readonly method: string;
  readonly params?: readonly unknown[];
}

/** @param url of the real node */
export async function startLyingNode(url: string): Promise<LyingNode> {
  const lies = new Map<string, Lie | undefined>();
  const methods: string[] = [];
  const post = (request: Sent): Promise<Response> => {
    const headers = { 'content-type': 'application/json' };
    return fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...request }) });
  };
  const send = async (request: Sent): Promise<{ result?: unknown }> => {
    return (await (await post(request)).json()) as { result?: unknown };
  };
  const ask: Ask = async (method, params) => (await send({ id: 1, method, params })).result;
  /** The response as JSON. The truth is passed on as it is. */
  const answer = async (request: Sent): Promise<string> => {
    methods.push(request.method);
    if (lies.get(request.method) === undefined) return (await post(request)).text();
    return JSON.stringify(await lieAbout(request));
  };
  const lieAbout = async (request: Sent): Promise<object> => {
    const response = await send(request);
    const lie = lies.get(request.method);
    if (lie === undefined || !('result' in response)) return response;
    return { ...response, result: await lie(response.result as never, request.params ?? [], ask) };
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      void (async () => {
        const sent = JSON.parse(Buffer.concat(chunks).toString()) as Sent | Sent[];
        const body = Array.isArray(sent) ? `[${(await Promise.all(sent.map(answer))).join()}]` : await answer(sent);
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      })();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    methods,
    lie: (method, lie) => void lies.set(method, lie),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
