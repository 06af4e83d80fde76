import '../gateway/main.ts';
import { CallCounter, type Counting } from './call-counter.ts';

/** Runs the gateway and counts for the parent process, which sends the names of the methods of `CallCounter`. */
const counter = new CallCounter();

process.on('message', (method: keyof Counting) => {
  void counter[method]().then((counts) => process.send?.(counts ?? null));
});
