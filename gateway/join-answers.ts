import { slices } from './slices.ts';

/** Up to here one string is made, which is the quickest. */
const SMALL_CHARS = 100_000;
/** What is copied at once: a tenth of a millisecond. */
const STEP_BYTES = 500_000;

const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d];

/**
 * The answer to a batch of the answers to its calls.
 * @param length of all of them, in bytes
 */
export async function joinAnswers(answers: readonly (string | Buffer)[], length: number): Promise<string | Buffer> {
  if (length <= SMALL_CHARS) return `[${answers.map((answer) => answer.toString()).join()}]`;
  // As bytes: a string of many megabytes would be encoded in one go when it is sent.
  const whole = Buffer.allocUnsafe(length + answers.length + 1);
  let at = 0;
  for (const answer of answers) {
    const pause = slices.next();
    if (pause !== undefined) await pause;
    whole[at] = at === 0 ? OPEN : COMMA;
    at += 1;
    if (typeof answer === 'string') {
      at += whole.write(answer, at);
      continue;
    }
    for (let from = 0; from < answer.length; from += STEP_BYTES) {
      at += answer.copy(whole, at, from, from + STEP_BYTES);
      await slices.next();
    }
  }
  whole[at] = CLOSE;
  return whole;
}
