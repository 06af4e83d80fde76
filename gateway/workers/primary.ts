import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { clock, type Timer } from '../clock/clock.ts';
import { random } from '../clock/random.ts';
import { causeOf, type Log } from '../config/log.ts';
import { MessageRouter } from './message-router.ts';
import type { MessageToPrimary, MessageToWorker } from './messages.ts';
import { restartAt, runOf, type WorkerRun, type WorkerTimes } from './restart-policy.ts';
import { SharedPorts } from './shared-ports.ts';

/** Workers report that their event loop turns. */
export const ALIVE_INTERVAL_MS = 500;
/** Time without a message after which a worker hangs, and is replaced. A garbage collection takes up to 0.3 s. */
const HANG_MS = 5_000;
/** The same for a worker that has not joined: its start blocks the event loop for longer. */
const START_MS = 60_000;
/** A worker joins within this time of its start, also if its event loop turns. */
const JOIN_MS = 300_000;

/** Environment variable of a worker: its id. */
export const WORKER_ID = 'GATEHOUSE_WORKER_ID';

/** How a worker ended that was not stopped. */
export type WorkerEnd = 'crashed' | 'hung';

interface RunningWorker {
  /** Starts at 1, and is never used again. */
  readonly id: number;
  readonly child: ChildProcess;
  readonly startedAt: number;
  /** Short runs in a row at its place before this one. */
  readonly shortRuns: number;
  /** When its latest message arrived, by clock.now(). */
  aliveAt: number;
  hasJoined: boolean;
  isReady: boolean;
  isHung: boolean;
}

export interface PrimaryOptions {
  /** How many workers serve. */
  readonly count: number;
  /** Environment of the workers, without their ids. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: Log;
}

/**
 * Starts the workers, restarts those that end, and passes their messages on. It serves no calls, so that it does not crash with
 * one. Its end ends the workers.
 */
export class Primary {
  readonly router: MessageRouter;
  /** Workers that ended and were not stopped. */
  readonly ends: Record<WorkerEnd, number> = { crashed: 0, hung: 0 };
  readonly #options: PrimaryOptions;
  readonly #ports = new SharedPorts();
  readonly #running = new Map<number, RunningWorker>();
  #lastId = 0;
  #timer: Timer | undefined;
  /** The places without a worker, by the runs of their last ones. */
  #vacant: WorkerRun[] = [];
  #lastStartAt = -Infinity;
  #unservedSince: number | undefined = clock.now();
  #checkedAt = clock.now();
  #isStopping = false;
  #onEmpty: () => void = () => undefined;
  #onReady: () => void = () => undefined;
  #onFailedStart: ((code: number) => void) | undefined;

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.router = new MessageRouter((error) => {
      options.log.error(causeOf(error), 'internal error in a request of a worker');
    });
    this.#ports.serve(this.router);
    const secret = random.bytes(32);
    this.router.on('secret', () => secret);
    // All have the level that was set last, also if two operators set it at the same time.
    this.router.on('log-level', (level: string) => {
      options.log.level = level;
      for (const worker of this.router.ids) this.router.notify(worker, 'log-level', level);
    });
    this.router.on('workers', () => ({ running: this.running, ends: this.ends }));
  }

  /** Workers that listen. */
  get running(): number {
    return [...this.#running.values()].filter(({ isReady }) => isReady).length;
  }

  /**
   * Starts a first worker, and the others when it listens.
   * @returns the exit code of the first worker if it ends before, else 0 when it listens
   */
  async start(): Promise<number> {
    this.#timer = clock.setInterval(() => {
      this.#check();
    }, ALIVE_INTERVAL_MS);
    const code = await new Promise<number>((resolve) => {
      this.#onReady = () => {
        resolve(0);
      };
      this.#onFailedStart = resolve;
      this.#fork(0);
    }).catch((error: unknown) => {
      clock.clearInterval(this.#timer);
      throw error;
    });
    this.#onFailedStart = undefined;
    if (code !== 0) {
      clock.clearInterval(this.#timer);
      return code;
    }
    const now = clock.now();
    this.#vacant = Array.from({ length: this.#options.count - 1 }, () => runOf(-Infinity, now, true, 0));
    this.#fillPlaces(now);
    return code;
  }

  /** All workers read the network files again. */
  reload(): void {
    this.router.sendAll({ kind: 'reload' });
  }

  /** Drains and ends all workers. @param delayMs until they stop listening */
  async stop(delayMs: number): Promise<void> {
    this.#isStopping = true;
    const ended = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    if (this.#running.size === 0) return;
    for (const { child, hasJoined } of this.#running.values()) {
      // One that has not joined does not listen, and may not receive messages yet.
      if (hasJoined) sendTo(child, { kind: 'stop', delayMs });
      else child.kill('SIGKILL');
    }
    await ended;
  }

  #fork(shortRuns: number): void {
    const now = clock.now();
    this.#lastStartAt = now;
    const id = ++this.#lastId;
    const [program = '', ...args] = process.argv.slice(1);
    // Messages have Maps and Buffers, which JSON has not.
    const child = fork(program, args, {
      serialization: 'advanced',
      env: { ...this.#options.env, [WORKER_ID]: String(id) },
    });
    const times = { startedAt: now, aliveAt: now, shortRuns };
    const running = { id, child, ...times, hasJoined: false, isReady: false, isHung: false };
    this.#running.set(id, running);
    child.on('message', (message: MessageToPrimary) => {
      this.#received(running, message);
    });
    // A message to a process that has just ended; or the system cannot start a process: then there is no `exit`.
    child.on('error', () => {
      if (child.pid === undefined) this.#ended(running, null, null);
    });
    // Its last messages arrive before `disconnect`, which may be after `exit`.
    let exit: readonly [number | null, string | null] | undefined;
    const endIfBoth = (): void => {
      if (exit !== undefined && !child.connected) this.#ended(running, ...exit);
    };
    child.once('disconnect', endIfBoth);
    child.once('exit', (...codes) => {
      exit = codes;
      endIfBoth();
    });
  }

  #received(running: RunningWorker, message: MessageToPrimary): void {
    const { id, child } = running;
    running.aliveAt = clock.now();
    switch (message.kind) {
      case 'joined':
        running.hasJoined = true;
        this.#ports.add(id, (sent, socket) => {
          sendTo(child, sent, socket);
        });
        this.router.add(id, (sent) => {
          sendTo(child, sent);
        });
        this.router.notify(id, 'log-level', this.#options.log.level);
        break;
      case 'ready':
        running.isReady = true;
        this.#unservedSince = undefined;
        this.#onReady();
        break;
      case 'alive':
        this.#ports.heard(id, message.open);
        break;
      case 'connection-response':
        this.#ports.responded(id, message);
        break;
      default:
        this.router.received(id, message);
    }
  }

  #ended(
    { id, startedAt, shortRuns, isHung, isReady }: RunningWorker,
    code: number | null,
    signal: string | null,
  ): void {
    if (!this.#running.delete(id)) return;
    this.router.remove(id);
    void this.#ports.remove(id);
    if (this.#isStopping) {
      if (this.#running.size === 0) {
        clock.clearInterval(this.#timer);
        this.#onEmpty();
      }
      return;
    }
    if (this.#onFailedStart !== undefined) {
      this.#onFailedStart(code ?? 1);
      return;
    }
    const end: WorkerEnd = isHung ? 'hung' : 'crashed';
    this.ends[end]++;
    const now = clock.now();
    if (this.running === 0) this.#unservedSince ??= now;
    const run = runOf(startedAt, now, isReady, shortRuns);
    this.#vacant.push(run);
    const restartInMs = Math.max(0, Math.round(restartAt(run, this.#times) - now));
    this.#options.log.error({ worker: id, end, code, signal, restartInMs }, 'a worker has ended');
    this.#fillPlaces(now);
  }

  get #times(): WorkerTimes {
    return { lastStartAt: this.#lastStartAt, unservedSince: this.#unservedSince };
  }

  /** Starts the workers that are due. */
  #fillPlaces(now: number): void {
    if (this.#isStopping) return;
    const places = this.#vacant;
    this.#vacant = [];
    for (const run of places) {
      if (restartAt(run, this.#times) > now) this.#vacant.push(run);
      else this.#fill(run, now);
    }
  }

  #fill(run: WorkerRun, now: number): void {
    try {
      this.#fork(run.shortRuns);
    } catch (error) {
      this.#options.log.error(causeOf(error), 'a worker could not be started');
      this.#vacant.push(runOf(now, now, false, run.shortRuns));
    }
  }

  #check(): void {
    const now = clock.now();
    this.#fillPlaces(now);
    // While this process does not run (SIGSTOP), messages of workers wait.
    const wasStopped = now - this.#checkedAt > HANG_MS / 2;
    this.#checkedAt = now;
    for (const running of this.#running.values()) {
      if (wasStopped) running.aliveAt = now;
      if (running.isHung || !hangs(running, now)) continue;
      running.isHung = true;
      running.child.kill('SIGKILL');
    }
  }
}

/** @param now and the other times by clock.now() */
export function hangs(
  { hasJoined, startedAt, aliveAt }: Pick<RunningWorker, 'hasJoined' | 'startedAt' | 'aliveAt'>,
  now: number,
): boolean {
  return hasJoined ? now - aliveAt > HANG_MS : now - aliveAt > START_MS || now - startedAt > JOIN_MS;
}

/** A worker that has ended gets no message. */
function sendTo(child: ChildProcess, message: MessageToWorker, socket?: Socket): void {
  if (child.connected) child.send(message, socket, { keepOpen: true }, () => undefined);
}
