// A suite for a hole of the operating domain: frames of the built-in world that lie in it, and rules that lead into it.
import { written } from "/static/yaml.js";

const BECOMES = { sunny: "the weather becomes sunny", cloudy: "it becomes cloudy", rainy: "it rains", foggy: "it becomes foggy", snowy: "it snows", day: "the driving time changes into day", dusk: "the driving time changes into dusk", night: "the driving time changes into night" };
const TRACKS = { urban: "world:town", suburban: "world:village", rural: "world:meadow", forest: "world:mountain" };
const APPEARS = ["pedestrian", "bicyclist", "car", "truck", "bus", "traffic light", "traffic sign"];

// What of a hole frames can be made in; none of the built-in roads can be made to hold a speed.
export const makeable = (hole) => Object.keys(hole).every((one) => ["weather", "time", "level", "element", "place"].includes(one)) && (!hole.element || APPEARS.includes(hole.element));

export function holeSuite(wanted) {
  const hole = Object.fromEntries(wanted.get("hole").split(";").map((one) => one.split(":")));
  const { weather, time, level, element, place } = hole;
  const options = Object.fromEntries(Object.entries({ weather, time, level }).filter(([, one]) => one));
  const words = Object.values(hole).join(", "), id = Object.values(hole).join("-").replaceAll(" ", "-");
  const models = wanted.get("models")?.split(",").filter(Boolean) ?? ["dave2"];
  const lines = [`suite: ${written(`Hole: ${words}`)}`, `# No frame was in this part of the operating domain: ${words}.`, `models: ${written(models)}`, "data:",
    `  ${id}: ${written({ data: TRACKS[place] ?? "world:town", ...(Object.keys(options).length ? { options } : {}), sample: 60 })}`, "defaults: {accept: 5%}", "requirements:"];
  const article = /^[aeiou]/.test(element ?? "") ? "an" : "a", who = element ?? "pedestrian";
  lines.push(`  ${written(`${id}-${who.replaceAll(" ", "-")}`)}: If ${article} ${who} appears on the road, then the ego-vehicle should slow down.`);
  if (!element) lines.push(`  ${id}-lines: If lane lines are removed from the road, then the steering angle of ego-vehicle should keep the same.`);
  return `${lines.join("\n")}\n`;
}
