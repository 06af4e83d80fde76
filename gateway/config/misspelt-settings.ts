import { settingRows } from './settings.ts';
import { distance } from './suggest.ts';

/** Common variables, and those that Kubernetes and Docker set for each service, may be similar to a setting. */
const exempt = /^(HOME|HOSTNAME|.*_PORT|.*_SERVICE_.*)$/;
const names = settingRows.map(({ name }) => name);

/** A line for each variable whose name is one edit or one transposition away from a setting's. */
export function misspeltSettings(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.keys(env).flatMap((given) => {
    if (exempt.test(given) || names.includes(given)) return [];
    const meant = names.find((name) => Math.abs(name.length - given.length) <= 1 && isOneStep(given, name));
    return meant === undefined ? [] : [`${given} is not a setting; did you mean ${meant}?`];
  });
}

function isOneStep(given: string, name: string): boolean {
  return distance(given, name) === 1 || isTransposition(given, name);
}

function isTransposition(given: string, name: string): boolean {
  if (given.length !== name.length) return false;
  let at = 0;
  while (at < name.length && name[at] === given[at]) at++;
  const swapped = `${name.slice(0, at)}${name[at + 1] ?? ''}${name[at] ?? ''}${name.slice(at + 2)}`;
  return given === swapped;
}
