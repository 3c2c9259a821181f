// Many pictures on their way to the queue, a few at a time.

import { api, Refused } from "./api.js";

const AT_ONCE = 4;

// { came: as the queue has them, failed: [[file name, why], …] }; `told(count)` hears how many were dealt with.
export async function receive(files, told) {
  const waiting = [...files];
  const [came, failed] = [[], []];
  const carry = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      try {
        const { picture } = await api.enqueue(file);
        came.push({ picture, name: file.name, label: null, probability: null, doubt: 1 });
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        failed.push([file.name, error.message]);
      }
      told(came.length + failed.length);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, carry));
  return { came, failed };
}
