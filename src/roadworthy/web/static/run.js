import { JobCard } from "/static/job.js";

const box = document.getElementById("job");
const began = box.dataset.stage;
new JobCard(box, {
  linked: false,
  // What was found is in the page, so it is made again once there is more to show.
  over: (job) => { if (began === "running" || began === "waiting" || job.stage !== began) location.reload(); },
}).watch(box.dataset.job);
