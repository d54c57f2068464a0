// Decodes the votes of participants, which are packed with two bits per vote, and computes statistics of them.
const bytes = (text) => {
  const plain = atob(text), found = new Uint8Array(plain.length);
  for (let place = 0; place < plain.length; place += 1) found[place] = plain.charCodeAt(place);
  return found;
};
export const shorts = (text) => new Int16Array(bytes(text).buffer);

export const signed = (text) => new Int8Array(bytes(text).buffer);

export const UNSEEN = 0, AGREE = 1, DISAGREE = 2, PASS = 3;

export const makeBallots = (data) => {
  const people = data.people;
  const size = people ? people.drawn : 0;
  const xs = people ? Float32Array.from(shorts(people.x), (value) => value / 32767) : new Float32Array(0);
  const ys = people ? Float32Array.from(shorts(people.y), (value) => value / 32767) : new Float32Array(0);
  const groups = people ? new Int8Array(bytes(people.groups).buffer) : new Int8Array(0);
  const ids = people ? new Float64Array(bytes(people.ids).buffer) : new Float64Array(0);
  const votes = people ? bytes(people.votes) : new Uint8Array(0);
  const width = Math.ceil(size / 4);
  const placeOf = new Map(data.comments.map((comment, place) => [comment.id, place]));
  const vote = (person, place) => (votes[place * width + (person >> 2)] >> ((person & 3) * 2)) & 3;

  // The vote of each participant on a comment.
  const ofComment = (id) => {
    const place = placeOf.get(id), found = new Uint8Array(size);
    for (let person = 0; person < size; person += 1) found[person] = vote(person, place);
    return found;
  };
  // The side that each participant takes on most of these comments; a pass on a tie.
  const ofComments = (ids) => {
    const lean = new Int16Array(size), cast = new Uint16Array(size), found = new Uint8Array(size);
    for (const id of ids) {
      const place = placeOf.get(id);
      for (let person = 0; person < size; person += 1) {
        const one = vote(person, place);
        if (one === UNSEEN) continue;
        cast[person] += 1;
        lean[person] += one === AGREE ? 1 : one === DISAGREE ? -1 : 0;
      }
    }
    for (let person = 0; person < size; person += 1) found[person] = !cast[person] ? UNSEEN : lean[person] > 0 ? AGREE : lean[person] < 0 ? DISAGREE : PASS;
    return found;
  };
  // For each comment, by index, how many of the chosen participants agree, disagree and pass.
  const tally = (chosen) => data.comments.map((_, place) => {
    const counts = [0, 0, 0];
    for (const person of chosen) {
      const one = vote(person, place);
      if (one !== UNSEEN) counts[one - 1] += 1;
    }
    return counts;
  });
  return { size, ids, xs, ys, groups, ofComment, ofComments, tally };
};

// The lower bound of Wilson's 95% interval of a share.
export const leastShare = (part, whole) => {
  if (!whole) return 0;
  const z = 1.96, share = part / whole, more = (z * z) / whole;
  return (share + more / 2 - z * Math.sqrt((share * (1 - share) + more / 4) / whole)) / (1 + more);
};
