import { ponder } from 'ponder:registry';
import { numbers } from 'ponder:schema';

ponder.on('Counter:NumberSet', async ({ event, context }) => {
  const { number: block, hash: blockHash } = event.block;
  await context.db.insert(numbers).values({ number: event.args.number, block, blockHash });
});
