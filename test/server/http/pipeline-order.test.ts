import { type IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { turnBudget } from '../../../gateway/event-loop/turn-budget.ts';
import { RejectedBodies } from '../../../gateway/limits/rejected-bodies.ts';
import { MemoryBudget } from '../../../gateway/memory/memory-budget.ts';
import { ClientConnection } from '../../../gateway/server/http/client-connection.ts';
import { IncomingRequest } from '../../../gateway/server/http/incoming-request.ts';

const inProgressMax = 5;

/** Other work uses up this turn of the event loop. Resolves after the work that waits for the next one. */
function useTurn(): Promise<void> {
  turnBudget.charge('other', 3);
  return new Promise((resolve) => {
    setImmediate(setImmediate, resolve);
  });
}

it('a request that arrives while an earlier one waits for a turn begins after it', async () => {
  const socket = new Socket();
  const memory = new MemoryBudget({ requestsMax: 100, maxBytes: 100_000_000 });
  const begun: (string | undefined)[] = [];
  const options = {
    ...{ memory, rejectedBodies: new RejectedBodies(), connectionsMax: 10 },
    holderOf: () => memory.addressHolder('192.0.2.1'),
  };
  const handle = (request: IncomingMessage): void => void begun.push(request.url);
  const connection = new ClientConnection(socket, options, handle, { large: 0 });
  const arrive = (url: string): void => {
    const request = Object.assign(new IncomingRequest(socket), { url });
    connection.arrived(request, new ServerResponse(request));
  };
  const urls = Array.from({ length: inProgressMax + 2 }, (_, at) => `/${at}`);

  for (const url of urls.slice(0, -1)) arrive(url);
  const turn = useTurn();
  connection.responseEnded();
  arrive(urls.at(-1) ?? '');
  expect(begun).toEqual(urls.slice(0, inProgressMax));
  await turn;
  connection.responseEnded();
  await useTurn();
  expect(begun).toEqual(urls);
  socket.destroy();
});
