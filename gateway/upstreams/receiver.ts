/** Gets the end of work in progress: one of the two methods is called, once. Costs no promise. */
export interface Receiver<Value> {
  succeeded(value: Value): void;
  failed(error: unknown): void;
}

/** The end of work as a promise. @param start called at once */
export function promised<Value>(start: (receiver: Receiver<Value>) => void): Promise<Value> {
  return new Promise((succeeded, failed) => {
    start({ succeeded, failed });
  });
}

/** Passes the end of a promise to a receiver. */
export function deliver<Value>(promise: Promise<Value>, receiver: Receiver<Value>): void {
  promise.then(
    (value) => {
      receiver.succeeded(value);
    },
    (error: unknown) => {
      receiver.failed(error);
    },
  );
}
