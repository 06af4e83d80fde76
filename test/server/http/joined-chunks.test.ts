import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JoinedChunks, type HeldConnection } from '../../../gateway/server/http/joined-chunks.ts';
import { holdTimers, type HeldTimers } from '../../support/hold-timers.ts';

class TestConnection implements HeldConnection {
  isClosed = false;
  isHeld = false;
  isAbandoned = false;
  readonly #chunks = new JoinedChunks(this);

  hold(): void {
    this.isHeld = true;
  }

  resume(): void {
    this.isHeld = false;
  }

  abandon(): void {
    this.isAbandoned = true;
  }

  close(): void {
    this.isClosed = true;
  }

  /** A request whose chunks are passed to `push`, as by Node's parser. */
  open(): { request: IncomingMessage; emitted: string[] } {
    const request = new IncomingMessage(new Socket());
    this.#chunks.joinThoseOf(request);
    const emitted: string[] = [];
    request.on('data', (chunk: Buffer) => emitted.push(chunk.toString()));
    return { request, emitted };
  }

  send(chunks: number): void {
    const { request } = this.open();
    for (let count = 0; count < chunks; count++) request.push(Buffer.from('a'));
  }
}

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let timers: HeldTimers;

beforeEach(() => {
  timers = holdTimers('setInterval', 'setTimeout');
});
afterEach(async () => {
  // What the process keeps of all connections ends.
  await timers.forward(10_000);
  timers.release();
});

describe('the chunks of one read', () => {
  it('are emitted as one if they are small, and in order with large ones', async () => {
    const { request, emitted } = new TestConnection().open();
    await nextTick();
    const large = 'L'.repeat(300);
    for (const chunk of ['a', 'b', large, 'c', 'd']) request.push(Buffer.from(chunk));
    await nextTick();
    for (const chunk of ['e', 'f']) request.push(Buffer.from(chunk));
    request.push(null);
    await nextTick();
    expect(emitted).toEqual(['ab', large, 'cd', 'ef']);
    expect(request.readableEnded).toBe(true);
  });

  it('pause the connection if the body is not read', async () => {
    const request = new IncomingMessage(new Socket());
    const paused = vi.spyOn(request.socket, 'pause');
    new JoinedChunks(new TestConnection()).joinThoseOf(request);
    for (let count = 0; count < 1_000; count++) request.push(Buffer.alloc(255));
    await nextTick();
    expect(paused).toHaveBeenCalled();
  });
});

describe('a connection that sends very many small chunks', () => {
  const next = (): Promise<void> => timers.forward(200);

  it('is read in its turn, one connection after the other', async () => {
    const [one, two, usual] = [new TestConnection(), new TestConnection(), new TestConnection()];
    one.send(2_000);
    two.send(2_000);
    usual.send(1_999);
    const isHeld = (): boolean[] => [one, two, usual].map((connection) => connection.isHeld);
    expect(isHeld()).toEqual([true, true, false]);
    await next();
    expect(isHeld()).toEqual([false, true, false]);
    one.send(2_000);
    await next();
    expect(isHeld()).toEqual([true, false, false]);
    await next();
    expect(isHeld()).toEqual([false, false, false]);
  });

  it('is closed later, if another one has sent too many in the same 100 ms', async () => {
    const [first, second, harmless] = [new TestConnection(), new TestConnection(), new TestConnection()];
    first.send(11_000);
    // Each is read in a turn of its own.
    await nextTick();
    second.send(65);
    harmless.send(64);
    expect([first, second, harmless].map(({ isAbandoned }) => isAbandoned)).toEqual([false, true, false]);
    for (let turns = 0; turns < 5; turns++) await next();
    expect(second.isClosed).toBe(false);
    await next();
    expect([first, second, harmless].map(({ isClosed }) => isClosed)).toEqual([false, true, false]);
    harmless.send(65);
    expect(harmless.isAbandoned).toBe(false);
  });

  it('takes no turn after it has closed', async () => {
    const [closed, open] = [new TestConnection(), new TestConnection()];
    closed.send(2_000);
    open.send(2_000);
    closed.isClosed = true;
    await next();
    expect([closed.isHeld, open.isHeld]).toEqual([true, false]);
  });
});
