import { once } from 'node:events';
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sentBytes, skipInput } from '../../../gateway/server/http/node-internals.ts';
import { eventually, staysTrueFor } from '../../support/eventually.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/** Each of these members of Node must do the same in every version that Gatehouse supports: `npm run test:all -- runtimes`. */
let server: Server;
let accepted: Socket;
let client: Socket;
let received: string;
let handle: (request: IncomingMessage, response: ServerResponse) => void;

beforeEach(async () => {
  handle = (_request, response) => response.end('ok');
  server = createServer((request, response) => {
    handle(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await open();
});
afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

async function open(): Promise<void> {
  const opened = once(server, 'connection');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  received = '';
  client.on('data', (bytes: Buffer) => (received += bytes.toString()));
  [accepted] = (await opened) as [Socket];
}

const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const chunkedHead = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

it('sent bytes rise with what the operating system takes, and end at all that was written', async () => {
  client.pause();
  handle = (_request, response) => response.end(Buffer.alloc(50_000_000));
  client.write(get);
  let before: number;
  do {
    before = sentBytes(accepted);
    await scenarioPause(100);
  } while (accepted.bytesWritten === 0 || sentBytes(accepted) !== before);
  expect(before).toBeLessThan(50_000_000);
  client.resume();
  await eventually(() => sentBytes(accepted) > before);
  await eventually(() => sentBytes(accepted) > 50_000_000);
  expect(sentBytes(accepted)).toBe(accepted.bytesWritten);
});

describe('input that is skipped', () => {
  it('is neither a request nor a part of a body', async () => {
    let chunks = 0;
    let requests = 0;
    handle = (request) => {
      requests++;
      request.on('data', () => chunks++);
      skipInput(accepted);
      skipInput(accepted);
    };
    client.write(`${chunkedHead}1\r\na\r\n1\r\nb\r\n0\r\n\r\n${get}${get}`);
    await eventually(() => requests === 1);
    await staysTrueFor(100, () => chunks === 0);
    expect([requests, chunks, received]).toEqual([1, 0, '']);
  });

  it('leaves no trace in the parsers, which Node uses again', async () => {
    for (let count = 0; count < 20; count++) {
      let isSkipped = false;
      handle = () => {
        skipInput(accepted);
        isSkipped = true;
      };
      client.write(`${chunkedHead}1\r\na\r\n`);
      await eventually(() => isSkipped);
      accepted.destroy();
      await once(accepted, 'close');
      await open();
    }
    handle = (request, response) => void text(request).then((body) => response.end(body));
    const { port } = server.address() as AddressInfo;
    const headers = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`x-${at}`, 'y']));
    const bodies = Array.from({ length: 30 }, async () => {
      const sent = sendRequest({ port, method: 'POST', headers });
      sent.end('whole');
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return text(response);
    });
    expect(new Set(await Promise.all(bodies))).toEqual(new Set(['whole']));
  });
});
