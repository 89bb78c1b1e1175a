"""The attentional translator, whose encoder gives CoVe, as a training job."""
