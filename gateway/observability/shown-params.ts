import { createHmac } from 'node:crypto';
import { random } from '../clock/random.ts';
import { isRead } from '../spec/method-group.ts';
import type { MethodSpec } from '../spec/method-spec.ts';

const MAX_PARAMS_LENGTH = 1_000;
/** Larger parameters are not recorded: their text would take a part of a turn. */
const MAX_PARAM_VALUES = 200;

/** Parameters of calls as operators may see them: by RECENT_CALLS_PARAMS, and never those of transactions. */
export class ShownParams {
  /** The value of RECENT_CALLS_PARAMS: `off`, `shown`, or `hashed`, which is an HMAC with `secret`. */
  readonly mode: string;
  /** Random secret. A worker sets that of all workers. */
  secret: Uint8Array = random.bytes(32);

  constructor(mode: string) {
    this.mode = mode;
  }

  /** Parameters as text; undefined: they are not shown. */
  of(method: MethodSpec, params: unknown): string | undefined {
    if (this.mode === 'off' || !canRecordParams(method) || !isSmall(params)) return undefined;
    const text = JSON.stringify(params);
    if (this.mode === 'shown') return hideCredentials(text);
    return createHmac('sha256', this.secret).update(`${method.name} ${text}`).digest('hex').slice(0, 16);
  }
}

/** Transactions are never recorded, nor the parameters of pass-through methods: those may be transactions or passwords. */
function canRecordParams(method: MethodSpec): boolean {
  return method.isPassThrough !== true && isRead(method);
}

/** Whether the parameters have few values and short texts. */
function isSmall(params: unknown): boolean {
  let values = 0;
  let length = 0;
  const waiting = [params];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string') length += value.length;
    else if (typeof value === 'object' && value !== null) {
      const members: unknown[] = Object.values(value);
      values += members.length;
      if (values > MAX_PARAM_VALUES) return false;
      waiting.push(...members);
    }
    if (length > MAX_PARAMS_LENGTH) return false;
  }
  return true;
}

/** A caller may put its key, secret or token into the parameters by mistake. */
function hideCredentials(text: string): string {
  return text.replace(
    /ghs?_[0-9A-Za-z]{32}|eyJ[\w-]+\.[\w-]+\.[\w-]*|(?<![0-9A-Za-z])[0-9A-Fa-f]{32}(?![0-9A-Za-z])/g,
    '…',
  );
}
