import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { clock, type Timer } from '../clock/clock.ts';
import { waitForIdleBacklog } from '../event-loop/idle-backlog.ts';
import type { MessageRouter } from './message-router.ts';
import type { ConnectionMessage, ConnectionResponse } from './messages.ts';

export const OPEN_PORT_TOPIC = 'open-port';
export const CLOSE_PORT_TOPIC = 'close-port';

/** A worker accepts a connection within this time, or another one gets it; twice the time at each further attempt. */
const ACCEPT_MS = 100;
/** The time doubles this often: a worker that needs more hangs, and is replaced. */
const MAX_DOUBLINGS = 6;
/** A worker declines a connection after this part of the time: its response needs the rest. */
const VALID_PART = 3 / 4;

/** The last worker of a port gets those that wait when listening ends, within this time. */
const CLOSE_MS = 1_000;
const CLOSE_CHECK_MS = 5;

/** What a worker listens to. */
export interface PortRequest {
  /** The use of the port: the same in all workers. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
}

/** The port of the system, or the members of its error. */
export type PortResponse = { readonly port: number } | { readonly error: object };

type SendConnection = (message: ConnectionMessage, socket: Socket | undefined) => void;

interface SharedPort {
  readonly name: string;
  readonly server: Server;
  /** Port number of the system. */
  readonly number: number;
  readonly workers: Set<ReceivingWorker>;
}

interface ReceivingWorker {
  readonly send: SendConnection;
  /** Open connections of the worker, as of its latest message. */
  open: number;
  /** Connection that the worker was offered, until another one may have it. */
  offered: Connection | undefined;
  /** Whether the worker has not responded to the latest offer. It gets no other one meanwhile. */
  isPending: boolean;
  /** The id of the latest offer to it. */
  latest: number;
}

/** A connection that no worker has accepted yet. */
interface Connection {
  /** Id of the latest offer to a worker. */
  id: number;
  readonly port: SharedPort;
  readonly socket: Socket;
  attempts: number;
  timer: Timer | undefined;
}

/**
 * Listens for all workers, in the primary. Each connection goes to the worker with the fewest, one at a time. It is open here until
 * a worker has accepted it, so that it goes to another one if the worker hangs or ends.
 */
export class SharedPorts {
  readonly #ports = new Map<string, Promise<SharedPort>>();
  readonly #workers = new Map<number, ReceivingWorker>();
  /** Port numbers by name: a port that is opened again has the same one. */
  readonly #numbers = new Map<string, number>();
  /** The next one is first. */
  #waiting: Connection[] = [];
  /** Offers have ids in ascending order. */
  #lastId = 0;

  serve(router: MessageRouter): void {
    router.on(OPEN_PORT_TOPIC, (request: PortRequest, worker) => this.#open(request, worker));
    router.on(CLOSE_PORT_TOPIC, (name: string, worker) => this.#close(name, worker));
  }

  /** The worker may open ports from now on. */
  add(id: number, send: SendConnection): void {
    this.#workers.set(id, { send, open: 0, offered: undefined, isPending: false, latest: 0 });
  }

  /** The worker has ended, and all its messages were received. */
  async remove(id: number): Promise<void> {
    const worker = this.#workers.get(id);
    if (worker === undefined) return;
    this.#workers.delete(id);
    this.#withdraw(worker);
    for (const opening of this.#ports.values()) {
      const port = await opening.catch(() => undefined);
      if (port !== undefined) this.#removeFrom(port, worker);
    }
    this.#sendWaiting();
  }

  /** The worker has read the message about a connection. */
  responded(id: number, { id: offer, isAccepted, open }: ConnectionResponse): void {
    const worker = this.#workers.get(id);
    if (worker === undefined) return;
    worker.open = open;
    // A second response to an earlier offer.
    if (worker.latest !== offer) return;
    worker.isPending = false;
    this.#withdraw(worker);
    const at = isAccepted ? this.#waiting.findIndex((one) => one.id === offer) : -1;
    // The worker has a descriptor of its own.
    if (at >= 0) this.#waiting.splice(at, 1)[0]?.socket.destroy();
    this.#sendWaiting();
  }

  /** @param open the connections of the worker */
  heard(id: number, open: number): void {
    const worker = this.#workers.get(id);
    if (worker !== undefined) worker.open = open;
  }

  async #open(request: PortRequest, id: number): Promise<PortResponse> {
    const { name } = request;
    let opening = this.#ports.get(name);
    if (opening === undefined) {
      opening = this.#listen({ ...request, port: this.#numbers.get(name) ?? request.port });
      this.#ports.set(name, opening);
    }
    try {
      const port = await opening;
      this.#numbers.set(name, port.number);
      // It has stopped meanwhile, with a worker that has ended.
      if (this.#ports.get(name) !== opening) return await this.#open(request, id);
      const worker = this.#workers.get(id);
      if (worker !== undefined) port.workers.add(worker);
      else if (port.workers.size === 0) this.#stopListening(port);
      this.#sendWaiting();
      return { port: port.number };
    } catch (error) {
      if (this.#ports.get(name) === opening) this.#ports.delete(name);
      // The clone of an error has no code.
      return { error: Object.assign({ message: (error as Error).message }, error) };
    }
  }

  /** Resolves when the worker gets no more connections, after those that the system has accepted. */
  async #close(name: string, id: number): Promise<void> {
    const [port, worker] = [await this.#ports.get(name), this.#workers.get(id)];
    if (port === undefined || worker === undefined) return;
    if (port.workers.size === 1) {
      await waitForIdleBacklog(port.server);
      this.#stopListening(port);
      const deadline = clock.now() + CLOSE_MS;
      while (this.#isWaitedFor(port) && clock.now() < deadline) await clock.sleep(CLOSE_CHECK_MS);
    }
    this.#removeFrom(port, worker);
  }

  async #listen({ name, host, port: number }: PortRequest): Promise<SharedPort> {
    // As node:http does it. Only workers read from the connections.
    const server = createServer({ pauseOnConnect: true, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(number, host, resolve);
    });
    // The system could not accept a connection, such as without a free descriptor. It has closed it.
    server.on('error', () => undefined);
    const port = { name, server, number: (server.address() as AddressInfo).port, workers: new Set<ReceivingWorker>() };
    server.on('connection', (socket) => {
      this.#waiting.push({ id: 0, port, socket, attempts: 0, timer: undefined });
      this.#sendWaiting();
    });
    return port;
  }

  /** Connections that no worker has accepted are closed with the last one. */
  #removeFrom(port: SharedPort, worker: ReceivingWorker): void {
    if (!port.workers.delete(worker) || port.workers.size > 0) return;
    this.#stopListening(port);
    for (const { socket } of this.#waiting.filter((one) => one.port === port)) socket.destroy();
    this.#waiting = this.#waiting.filter((one) => one.port !== port);
  }

  /** The port may be opened again meanwhile. */
  #stopListening(port: SharedPort): void {
    if (!port.server.listening) return;
    this.#ports.delete(port.name);
    port.server.close();
  }

  /** Whether a connection to the port is not accepted yet. */
  #isWaitedFor(port: SharedPort): boolean {
    const offered = [...this.#workers.values()].flatMap((worker) => worker.offered ?? []);
    return [...this.#waiting, ...offered].some((one) => one.port === port);
  }

  /** Each free worker gets the first connection of its ports. */
  #sendWaiting(): void {
    const free = [...this.#workers.values()].filter(({ isPending }) => !isPending);
    for (const worker of free.sort((one, other) => one.open - other.open || one.latest - other.latest)) {
      const at = this.#waiting.findIndex(({ port }) => port.workers.has(worker));
      for (const connection of at < 0 ? [] : this.#waiting.splice(at, 1)) this.#send(worker, connection);
    }
  }

  #send(worker: ReceivingWorker, connection: Connection): void {
    const { port, socket } = connection;
    const id = ++this.#lastId;
    const waitMs = ACCEPT_MS * 2 ** Math.min(connection.attempts++, MAX_DOUBLINGS);
    connection.id = worker.latest = id;
    worker.offered = connection;
    worker.isPending = true;
    const message: ConnectionMessage = {
      ...{ kind: 'connection', id, port: port.name },
      ...{ sentAt: clock.machineMs(), validMs: waitMs * VALID_PART },
    };
    worker.send(message, socket);
    // After pending messages are read: this process may have been busy.
    connection.timer = clock.setTimeout(() => {
      clock.setImmediate(() => {
        if (worker.offered !== connection || connection.id !== id) return;
        this.#withdraw(worker);
        this.#sendWaiting();
        // Node drops the first message if the worker has no free descriptor. The worker declines this one.
        worker.send(message, undefined);
      });
    }, waitMs);
  }

  /** The next free worker gets what this one was offered. */
  #withdraw(worker: ReceivingWorker): void {
    const { offered } = worker;
    if (offered === undefined) return;
    clock.clearTimeout(offered.timer);
    worker.offered = undefined;
    if (offered.port.workers.size > 0) this.#waiting.unshift(offered);
    else offered.socket.destroy();
  }
}
