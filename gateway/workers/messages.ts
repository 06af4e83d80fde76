/** Who gets a request: the primary, all other workers, or the worker with this id. */
export type Recipient = 'primary' | 'others' | number;

/** How long a request waits for responses, in ms. `current`: for the response of each worker while that is current. */
export type ResponseWait = number | 'current';

/** Message from a worker to the primary. Messages are structured clones: they may have Maps, bigints and Buffers. */
export type MessageToPrimary =
  /** @param id undefined: the sender needs no response */
  | {
      readonly kind: 'request';
      readonly id: number | undefined;
      readonly to: Recipient;
      readonly topic: string;
      readonly body: unknown;
      readonly wait: ResponseWait;
    }
  /** The response to the request with this id. */
  | { readonly kind: 'response'; readonly id: number; readonly result: unknown }
  /** The worker can handle requests of others from now on. */
  | { readonly kind: 'joined' }
  /** The worker listens. */
  | { readonly kind: 'ready' }
  | ConnectionResponse
  /** The event loop of the worker turns. */
  | { readonly kind: 'alive'; readonly open: number };

/** Whether the worker serves the connection that was offered with this id, or has received it too late. */
export interface ConnectionResponse {
  readonly kind: 'connection-response';
  readonly id: number;
  readonly isAccepted: boolean;
  /** The connections of the worker. */
  readonly open: number;
}

/** An offer of a connection. It comes with a socket; again, without one, if the worker has not responded in time. */
export interface ConnectionMessage {
  readonly kind: 'connection';
  readonly id: number;
  /** The name of the port. */
  readonly port: string;
  /** Time of the offer, by clock.machineMs(). */
  readonly sentAt: number;
  /** The worker declines it after this time: another one may have got it. */
  readonly validMs: number;
}

export type MessageToWorker =
  | {
      readonly kind: 'request';
      readonly id: number | undefined;
      readonly from: number;
      readonly topic: string;
      readonly body: unknown;
    }
  /** The results of all recipients that have not ended meanwhile. */
  | { readonly kind: 'responses'; readonly id: number; readonly results: readonly unknown[] }
  /** The ids of all workers that have joined, in ascending order. */
  | { readonly kind: 'workers'; readonly ids: readonly number[] }
  | ConnectionMessage
  | { readonly kind: 'reload' }
  /** Drains and ends the worker. @param delayMs until it stops listening */
  | { readonly kind: 'stop'; readonly delayMs: number };
