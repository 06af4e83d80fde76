import { register, type LoadHook } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import type { Edit } from './mutations.ts';

/** The edits as JSON, for a process that imports this file first. */
export const EDITS_VARIABLE = 'SOAK_EDITS';

const edits = JSON.parse(process.env[EDITS_VARIABLE] ?? '[]') as readonly Edit[];

/** Applies the edits to the compiled modules of the gateway. @throws Error if a text does not occur exactly once */
export const load: LoadHook = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context);
  const ownEdits = edits.filter(({ file }) => url.endsWith(`/gateway/${file}.js`));
  if (ownEdits.length === 0) return loaded;
  const source = Buffer.from(loaded.source as Uint8Array).toString();
  return { ...loaded, source: ownEdits.reduce(applyEdit, source) };
};

export function applyEdit(source: string, { file, find, replace }: Edit): string {
  const parts = source.split(find);
  if (parts.length !== 2) throw new Error(`${file} has the text ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}

if (isMainThread && edits.length > 0) register(import.meta.url);
