import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { randomCall } from './known-calls.ts';
import type { Random } from '../random.ts';
import type { OutcomeCounts } from './outcome-counts.ts';

type ResponseObject = Parameters<OutcomeCounts['addResponse']>[0];

export interface CallerParts {
  readonly url: string;
  readonly outcomes: OutcomeCounts;
  readonly random: Random;
  /** The end of new calls, on the clock of performance.now(). */
  readonly deadline: number;
}

const MAX_PAUSE_MS = 30;
const MAX_BATCH = 10;
/** Time for the calls in progress at the end. */
const LAST_RESPONSE_TIMEOUT_MS = 20_000;

/** Sends one call or batch after the other over HTTP. One in twenty times it disconnects before the response. */
export async function callOverHttp({ url, outcomes, random, deadline }: CallerParts): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < deadline) {
    const size = random.next() < 0.3 ? random.between(1, MAX_BATCH) : 0;
    const sent = Array.from({ length: Math.max(1, size) }, () => outcomes.request(randomCall(random)));
    const requests = sent.map(({ request }) => request);
    const body = JSON.stringify(size === 0 ? requests[0] : requests);
    const disconnectAfterMs = random.next() < 0.05 ? random.between(0, 50) : undefined;
    const text = await post(url, agent, body, disconnectAfterMs);
    const ids = sent.map(({ id }) => id);
    if (text === undefined) for (const id of ids) outcomes.discard(id);
    else if (text === 'ended') outcomes.connectionEnded(ids, size > 0);
    else for (const response of responsesIn(text)) outcomes.addResponse(response);
    await delay(random.between(0, MAX_PAUSE_MS));
  }
  agent.destroy();
}

/** Sends calls and batches over one WebSocket, up to five at a time. */
export async function callOverWebSocket({ url, outcomes, random, deadline }: CallerParts): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws').replace('/v3/', '/ws/v3/'));
  let open = 0;
  socket.on('message', (data) => {
    open--;
    for (const response of responsesIn((data as Buffer).toString())) outcomes.addResponse(response);
  });
  await once(socket, 'open');
  while (performance.now() < deadline) {
    const size = random.next() < 0.2 ? random.between(1, MAX_BATCH) : 0;
    const requests = Array.from({ length: Math.max(1, size) }, () => outcomes.request(randomCall(random)).request);
    open++;
    socket.send(JSON.stringify(size === 0 ? requests[0] : requests));
    await delay(random.between(0, MAX_PAUSE_MS));
    while (open > 5 && performance.now() < deadline) await delay(5);
  }
  for (const end = performance.now() + LAST_RESPONSE_TIMEOUT_MS; open > 0 && performance.now() < end;) await delay(20);
  socket.terminate();
}

function responsesIn(text: string): ResponseObject[] {
  return [JSON.parse(text) as ResponseObject | ResponseObject[]].flat();
}

/** @returns undefined: the client disconnected before the end of the response; `ended`: the gateway did, after the head */
function post(
  url: string,
  agent: Agent,
  body: string,
  disconnectAfterMs: number | undefined,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    let hasDisconnected = false;
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        clearTimeout(disconnecting);
        resolve(text);
      });
      response.on('error', (error) => {
        if (hasDisconnected) failed(error);
        else {
          clearTimeout(disconnecting);
          resolve('ended');
        }
      });
    });
    const failed = (error: Error): void => {
      clearTimeout(disconnecting);
      if (hasDisconnected) resolve(undefined);
      else reject(error);
    };
    sent.on('error', failed);
    const disconnecting =
      disconnectAfterMs === undefined
        ? undefined
        : setTimeout(() => {
            hasDisconnected = true;
            sent.destroy();
          }, disconnectAfterMs);
    sent.end(body);
  });
}
