import type { WorkerLink } from '../workers/worker-link.ts';
import { workerIn } from './polled-filter.ts';
import type { FilterParams } from '../chain/logs/log-filter.ts';

/** A request for a filter of another worker, of a caller whose key is checked. */
export interface FilterRequest {
  /** Slug of the network. */
  readonly network: string;
  readonly keyId: string;
  readonly id: string;
  readonly action: 'find' | 'take' | 'remove';
}

/** Filter of another worker. */
export interface FoundFilter {
  /** Undefined: it is no log filter. */
  readonly filterParams: FilterParams | undefined;
}

export const FILTER_TOPIC = 'filter';

/** The filters of one network in the other workers of the machine. The id of a filter names its worker. */
export class FilterPeers {
  readonly worker: number;
  readonly #link: WorkerLink;
  readonly #network: string;

  constructor(link: WorkerLink, network: string) {
    this.worker = link.id;
    this.#link = link;
    this.#network = network;
  }

  /** Whether the filter, if it exists, is in another worker. */
  has(id: string): boolean {
    const worker = workerIn(id);
    return !Number.isNaN(worker) && worker !== workerIn(this.worker.toString(16));
  }

  /** Undefined: there is no such filter of the key. */
  find(keyId: string, id: string): Promise<FoundFilter | undefined> {
    return this.#request(keyId, id, 'find') as Promise<FoundFilter | undefined>;
  }

  /** The results since the last poll as JSON text. Undefined: there is no such filter of the key. */
  take(keyId: string, id: string): Promise<string | undefined> {
    return this.#request(keyId, id, 'take') as Promise<string | undefined>;
  }

  async remove(keyId: string, id: string): Promise<boolean> {
    return (await this.#request(keyId, id, 'remove')) === true;
  }

  #request(keyId: string, id: string, action: FilterRequest['action']): Promise<unknown> {
    const request: FilterRequest = { network: this.#network, keyId, id, action };
    return this.#link.request(workerIn(id), FILTER_TOPIC, request);
  }
}
