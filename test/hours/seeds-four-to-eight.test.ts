import { testSeeds } from '../simulation/seeds.ts';

testSeeds([4, 5, 6, 7, 8]);
