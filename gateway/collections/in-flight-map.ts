/** A Map is replaced after this many additions, or twice as many as it has entries if that is more: few of its tables are old then. */
const MIN_ADDITIONS = 64;

/**
 * A Map whose entries are added and removed all the time, such as calls in flight by name. It moves to a new Map before the
 * tables of the old one become a chain that retains removed entries: see `InFlightSet`.
 */
export class InFlightMap<Key, Value> {
  #map = new Map<Key, Value>();
  #additions = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: Key): Value | undefined {
    return this.#map.get(key);
  }

  set(key: Key, value: Value): void {
    if (++this.#additions > Math.max(MIN_ADDITIONS, 2 * this.#map.size)) {
      this.#map = new Map(this.#map);
      this.#additions = 0;
    }
    this.#map.set(key, value);
  }

  delete(key: Key): boolean {
    return this.#map.delete(key);
  }

  /** Deletes the entry unless its value has been replaced. */
  deleteEntry(key: Key, value: Value): void {
    if (this.#map.get(key) === value) this.#map.delete(key);
  }

  clear(): void {
    this.#map = new Map();
  }

  keys(): IterableIterator<Key> {
    return this.#map.keys();
  }

  values(): IterableIterator<Value> {
    return this.#map.values();
  }
}
