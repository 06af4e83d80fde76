import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { knownCall } from './known-calls.ts';
import type { Random } from './random.ts';
import type { OutcomeCounts } from './outcome-counts.ts';

type AnswerObject = Parameters<OutcomeCounts['answered']>[0];

export interface CallerParts {
  readonly url: string;
  readonly outcomes: OutcomeCounts;
  readonly random: Random;
  /** Until when calls are made, on the clock of performance.now(). */
  readonly deadline: number;
}

const MAX_PAUSE_MS = 30;
const MAX_BATCH = 10;
/** Time for what is under way in the end. */
const LAST_MS = 20_000;

/** One call or batch after the other over HTTP; every twentieth time it leaves without waiting for the answer. */
export async function callOverHttp({ url, outcomes, random, deadline: until }: CallerParts): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < until) {
    const size = random.next() < 0.3 ? random.between(1, MAX_BATCH) : 0;
    const sent = Array.from({ length: Math.max(1, size) }, () => outcomes.request(knownCall(random)));
    const requests = sent.map(({ request }) => request);
    const body = JSON.stringify(size === 0 ? requests[0] : requests);
    const leaveAfterMs = random.next() < 0.05 ? random.between(0, 50) : undefined;
    const text = await post(url, agent, body, leaveAfterMs);
    if (text === undefined) for (const { id } of sent) outcomes.forget(id);
    else for (const response of answersIn(text)) outcomes.answered(response);
    await delay(random.between(0, MAX_PAUSE_MS));
  }
  agent.destroy();
}

/** Calls and batches over one WebSocket, without waiting for answers before the next. */
export async function callOverWebSocket({ url, outcomes, random, deadline: until }: CallerParts): Promise<void> {
  const socket = new WebSocket(url.replace('http', 'ws').replace('/v3/', '/ws/v3/'));
  let open = 0;
  socket.on('message', (data) => {
    open--;
    for (const response of answersIn((data as Buffer).toString())) outcomes.answered(response);
  });
  await once(socket, 'open');
  while (performance.now() < until) {
    const size = random.next() < 0.2 ? random.between(1, MAX_BATCH) : 0;
    const requests = Array.from({ length: Math.max(1, size) }, () => outcomes.request(knownCall(random)).request);
    open++;
    socket.send(JSON.stringify(size === 0 ? requests[0] : requests));
    await delay(random.between(0, MAX_PAUSE_MS));
    while (open > 5 && performance.now() < until) await delay(5);
  }
  for (const end = performance.now() + LAST_MS; open > 0 && performance.now() < end;) await delay(20);
  socket.terminate();
}

function answersIn(text: string): AnswerObject[] {
  const told = JSON.parse(text) as AnswerObject | AnswerObject[];
  return Array.isArray(told) ? told : [told];
}

/** @returns undefined when the caller left before the answer was whole */
function post(url: string, agent: Agent, body: string, leaveAfterMs: number | undefined): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    let hasLeft = false;
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        clearTimeout(leaving);
        resolve(text);
      });
      response.on('error', failed);
    });
    const failed = (error: Error): void => {
      clearTimeout(leaving);
      if (hasLeft) resolve(undefined);
      else reject(error);
    };
    sent.on('error', failed);
    const leaving =
      leaveAfterMs === undefined
        ? undefined
        : setTimeout(() => {
            hasLeft = true;
            sent.destroy();
          }, leaveAfterMs);
    sent.end(body);
  });
}
