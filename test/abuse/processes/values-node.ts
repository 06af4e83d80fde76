import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WebSocketServer } from 'ws';
import { jsonForms, placesOfValue } from '../../support/json-forms.ts';
import type { Traffic } from './traffic.ts';

interface Call {
  readonly id: number;
  readonly method: string;
}

/** Bytes of a response, below its bound. */
const BYTES = 30_000_000;
const forms = jsonForms(BYTES);
const made = new Map<number, string>();

/** An upstream whose responses have very many values, in each form and at each place in turn. It serves HTTP and WebSocket. */
export function startValuesNode(port: number, chainId: number, traffic: Traffic): void {
  let count = 0;
  const next = (id: number, method: string): string => {
    if (method === 'eth_chainId') return `{"jsonrpc":"2.0","id":${id},"result":"0x${chainId.toString(16)}"}`;
    if (method === 'eth_getBlockByNumber') return `{"jsonrpc":"2.0","id":${id},"result":null}`;
    const at = count++;
    const form = at % forms.length;
    let value = made.get(form);
    if (value === undefined) made.set(form, (value = (forms[form] as () => string)()));
    const text = (
      placesOfValue[Math.floor(at / forms.length) % placesOfValue.length] as (typeof placesOfValue)[number]
    )(id, value);
    traffic.sent(text.length);
    return text;
  };
  const respond = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[];
      // Only the first response of a batch is large, or it would be beyond the size of a response.
      const texts = [body].flat().map(({ id, method }, index) => (index === 0 ? next(id, method) : `{"id":${id}}`));
      response.end(Array.isArray(body) ? `[${texts.join()}]` : texts[0]);
    });
  };
  const server = createServer(respond).listen(port, '127.0.0.1');
  new WebSocketServer({ server }).on('connection', (socket) => {
    traffic.opened();
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const { id, method } = JSON.parse((data as Buffer).toString()) as Call;
      if (method === 'eth_subscribe') {
        socket.send(`{"jsonrpc":"2.0","id":${id},"result":"0x1"}`);
        const params = `{"subscription":"0x1","result":[${'{},'.repeat(40_000)}1]}`;
        socket.send(`{"jsonrpc":"2.0","method":"eth_subscription","params":${params}}`);
      } else socket.send(next(id, method));
    });
  });
}
