'use strict';

const TEAM_KEYS = 100;

/** Fills the view of a team: its quotas, usage and keys. @param target `team:<name>` @throws RequestError */
async function showTeam(target) {
  const team = target.slice('team:'.length);
  const parameters = new URLSearchParams({ team, sort: '-use', days: LIST_USAGE_DAYS, limit: TEAM_KEYS });
  const [{ usage }, { keys, matching }] = await Promise.all([
    sendRequest('GET', `/keys/${target}/usage?days=${USAGE_DAYS}`),
    sendRequest('GET', `/keys?${parameters}`),
  ]);
  if (!isOpen(target)) return;
  byId('team-title').textContent = `Team ${team}`;
  byId('team-facts').textContent = `${quantity(matching, 'key')}, which share counts of limits`;
  byId('team-quotas').replaceChildren(quotaBars(keys.find(({ quotas }) => quotas !== undefined)?.quotas));
  byId('team-usage').replaceChildren(usagePlots(usage, USAGE_DAYS));
  byId('team-keys').replaceChildren(
    table(
      ['Name', 'State', 'Last used', 'Calls, 7 days'],
      keys.map((key) => [
        element('a', { href: `#${key.id}` }, key.name),
        element('span', { class: stateStyles[key.state] ?? 'quiet' }, stateText(key)),
        lastUsed(key),
        key.usage === undefined ? '–' : formatNumber(key.usage.calls),
      ]),
    ),
  );
}
