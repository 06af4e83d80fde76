import type { WorkerLink } from '../workers/worker-link.ts';
import { workerIn } from './polled-filter.ts';
import type { FilterParams } from '../chain/logs/log-filter.ts';

/** A request for a filter, of a caller whose key is checked. */
export interface FilterRequest {
  /** Slug of the network. */
  readonly network: string;
  readonly keyId: string;
  readonly id: string;
  readonly action: 'find' | 'take' | 'remove';
}

/** A filter that was found. */
export interface FoundFilter {
  /** Parameters of a log filter; undefined: the filter is none. */
  readonly filterParams: FilterParams | undefined;
  /** The results since the last poll as JSON text, if they were taken. */
  readonly results?: string;
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

  /** Requests a filter; undefined: there is no such filter of the key. */
  request(request: Omit<FilterRequest, 'network'>): Promise<FoundFilter | undefined> {
    const sent: FilterRequest = { network: this.#network, ...request };
    return this.#link.request(workerIn(request.id), FILTER_TOPIC, sent) as Promise<FoundFilter | undefined>;
  }
}
