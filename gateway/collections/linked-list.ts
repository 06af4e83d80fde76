/** An entry of one `LinkedList`, which sets its links. */
export interface Linked<Entry> {
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** A list whose entries have their own links, so that any entry is removed in one step, without an allocation. */
export class LinkedList<Entry extends Linked<Entry>> {
  first: Entry | undefined;
  #last: Entry | undefined;

  push(entry: Entry): void {
    entry.previous = this.#last;
    entry.next = undefined;
    if (this.#last === undefined) this.first = entry;
    else this.#last.next = entry;
    this.#last = entry;
  }

  remove(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    entry.previous = undefined;
    entry.next = undefined;
  }
}
