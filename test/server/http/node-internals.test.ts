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
import {
  afterEnd,
  divertBody,
  pendingResponse,
  sentBytes,
  skipInput,
  watchBodies,
  watchHeads,
} from '../../../gateway/server/http/node-internals.ts';
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

const responses = (): number => received.split('HTTP/1.1 200').length - 1;
const get = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const chunkedHead = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

it('the pending response is that of the oldest request, until it is complete', async () => {
  const pending: ServerResponse[] = [];
  handle = (_request, response) => pending.push(response);
  expect(pendingResponse(accepted)).toBeUndefined();
  client.write(get + get);
  await eventually(() => pending.length === 2);
  expect(pendingResponse(accepted)).toBe(pending[0]);
  pending[0]?.end();
  await eventually(() => pendingResponse(accepted) === pending[1]);
  pending[1]?.end();
  await eventually(() => responses() === 2 && pendingResponse(accepted) === undefined);
});

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

describe('a head that is not complete', () => {
  const manyHeaders = `GET / HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(300)}`;

  it('is reported with each 31 or 32 headers, and kept if it may be', async () => {
    const counts: number[] = [];
    let headers = 0;
    handle = (request, response) => {
      headers = request.rawHeaders.length / 2;
      response.end();
    };
    watchHeads(accepted, (count) => counts.push(count) > 0);
    client.write(manyHeaders);
    await eventually(() => counts.length > 5);
    expect(counts.slice(0, 3)).toEqual([0, 31, 62]);
    client.write('\r\n');
    await eventually(() => responses() === 1);
    expect(headers).toBe(301);
  });

  it('is dropped if it may not, and its connection is not read and never served', async () => {
    watchHeads(accepted, (count) => count < 100);
    client.write(manyHeaders);
    await eventually(() => accepted.isPaused());
    client.write(`\r\n${get}`);
    await staysTrueFor(100, () => received === '');
    accepted.resume();
    await eventually(() => accepted.destroyed);
    expect(received).toBe('');
  });
});

describe('the chunks of a body', () => {
  it('are reported, also if the body is dropped', async () => {
    const sizes: number[] = [];
    expect(watchBodies(accepted, (bytes) => sizes.push(bytes))).toBe(true);
    client.write(`${chunkedHead}1\r\na\r\n2\r\nbc\r\n0\r\n\r\n`);
    await eventually(() => responses() === 1);
    await eventually(() => sizes.length === 2);
    expect(sizes).toEqual([1, 2]);
  });

  it('pass a function in their order, with null after the last one', async () => {
    const chunks: (string | undefined)[] = [];
    let body = '';
    handle = (request, response) => {
      const push = divertBody(request, (chunk) => {
        chunks.push(chunk?.toString());
        return push(chunk);
      });
      void text(request).then((whole) => {
        body = whole;
        response.end();
      });
    };
    client.write(`${chunkedHead}1\r\na\r\n2\r\nbc\r\n0\r\n\r\n`);
    await eventually(() => responses() === 1);
    expect([chunks, body]).toEqual([['a', 'bc', undefined], 'abc']);
  });
});

describe('input that is skipped', () => {
  it('is neither a request nor a part of a body, and the next request closes the connection', async () => {
    let chunks = 0;
    let requests = 0;
    handle = (request) => {
      requests++;
      request.on('data', () => chunks++);
      skipInput(accepted);
    };
    client.write(chunkedHead);
    await eventually(() => requests === 1);
    client.write('1\r\na\r\n1\r\nb\r\n');
    await staysTrueFor(100, () => chunks === 0);
    client.write(`0\r\n\r\n${get}`);
    await eventually(() => accepted.destroyed);
    expect([requests, chunks, received]).toEqual([1, 0, '']);
  });

  it('leaves no trace in the parsers, which Node uses again', async () => {
    for (let count = 0; count < 20; count++) {
      handle = () => {
        skipInput(accepted);
      };
      watchHeads(accepted, () => false);
      watchBodies(accepted, () => undefined);
      client.write(`${chunkedHead}1\r\na\r\n`);
      await eventually(() => pendingResponse(accepted) !== undefined);
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

it('the end of a response is reported at once, also while an earlier response is pending', async () => {
  const events: string[] = [];
  const pending: ServerResponse[] = [];
  handle = (_request, response) => {
    const at = pending.push(response);
    afterEnd(response, () => events.push(`${at} ended`));
  };
  client.write(get + get);
  await eventually(() => pending.length === 2);
  pending[1]?.end('second');
  events.push('second sent');
  pending[0]?.end('first');
  expect(events).toEqual(['2 ended', 'second sent', '1 ended']);
  await eventually(() => responses() === 2);
});
