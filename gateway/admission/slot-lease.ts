/** Slots that requests of this process take. */
export interface SlotPool {
  /** Requests that may have a slot. */
  size: number;
  /** Requests that have one. */
  readonly inFlight: number;
  /** Requests that wait for one. */
  readonly waiting: number;
}

/** Slots of this process, out of a number that all workers of the machine share, or all gateways. */
export interface SlotLease {
  /** Limit of all workers, or all gateways, together. The lowest one that a worker knows holds for all. */
  readonly limit: number;
  /** @param isShared whether all gateways with one Redis have the limit together; default: each has it */
  setLimit(limit: number, isShared?: boolean): void;
  /**
   * Requests the slots that others do not use. To be called when a request finds no free slot.
   * @returns resolves when they are there, or the others use all; undefined: the others use all
   */
  requestMore(): Promise<void> | undefined;
  /** Notes the end of a request, of each one: another process may wait for its slot. */
  requestEnded(): void;
  /** Returns all slots, those in use as requests end. A later request may need some again. */
  close(): void;
}

/** Opens the leases of a process. */
export interface SlotLeases {
  /** @param pool has no slots yet: its size is set from now on */
  open(name: string, limit: number, pool: SlotPool): SlotLease;
}
